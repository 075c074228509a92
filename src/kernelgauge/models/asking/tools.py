"""Tools for agents that write kernels: read the problem, have a candidate judged, see where its time goes.

They work in every agent that runs on a sample of `kernelgauge/kernelbench`. What they say is for the agent alone: the
answer it gives in the end is judged anew.
"""

from __future__ import annotations

import anyio
from inspect_ai.tool import Tool, ToolError, tool

from kernelgauge.generation.extraction import extract
from kernelgauge.generation.feedback.verdict import facts
from kernelgauge.models.asking.workbench import Workbench, workbench
from kernelgauge.models.judging.scorer import profile_of
from kernelgauge.schema import Attempt

_NONE_LEFT = "The budget for this is spent. Submit your best file now."


@tool
def evaluate() -> Tool:
    """Judges a candidate."""

    async def execute(source: str) -> str:
        """Build a candidate, check whether it is right, and measure how fast it is.

        Args:
            source: The complete Python file that defines ModelNew.

        Returns:
            The verdict: what is wrong and where, or the speedup over the reference.
        """
        bench = _within_budget()
        attempt = await bench.evaluate(source)
        if attempt.evaluation is None:
            return f"It was not judged: {attempt.refusal}{_left(bench)}"
        return bench.templates.filled("verdict.md.j2", **facts(attempt, "G+E")) + _left(bench)

    return execute


@tool
def profile() -> Tool:
    """Says where a candidate's time goes."""

    async def execute(source: str) -> str:
        """Profile a candidate: its kernels or operators by time, memory, and on a GPU the gaps between kernels.

        Args:
            source: The complete Python file that defines ModelNew; empty for the reference itself.

        Returns:
            A table.
        """
        bench = _within_budget(aside="evaluations")
        file = extract(source).source if source.strip() else None
        if source.strip() and file is None:
            raise ToolError("there is no Python file in that")
        attempt = bench.before
        if attempt is None or (attempt.source, bool(attempt.profile)) != (file, True):
            await anyio.to_thread.run_sync(bench.judge.open, bench.contestant)
            said, spent = await profile_of(bench.judge, bench.problem, file, bench.sample)
            attempt = Attempt(answer=source, source=file, profile=said, spent=spent)
        await bench.note(attempt)
        return attempt.profile

    return execute


@tool
def read_problem() -> Tool:
    """Says what is to be replaced."""

    async def execute() -> str:
        """Read the reference: the file that defines Model, get_inputs and get_init_inputs, at the sizes in question.

        Returns:
            Its name and text.
        """
        problem = workbench().problem
        return f"{problem.key} {problem.name}, sizes {problem.sizes}\n\n```python\n{problem.source.strip()}\n```\n"

    return execute


def kernel_tools() -> list[Tool]:
    """All three."""
    return [read_problem(), evaluate(), profile()]


def _within_budget(aside: str | None = None) -> Workbench:
    bench = workbench()
    if bench.ended(aside):
        raise ToolError(_NONE_LEFT)
    return bench


def _left(bench: Workbench) -> str:
    most = bench.budget.evaluations
    return f"\n\nEvaluations left: {max(0, most - bench.spent.evaluations)}." if most else ""

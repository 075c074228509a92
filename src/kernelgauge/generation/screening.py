"""What is refused before any evaluation: cheap, and worth a second question to the contestant.

A refusal is no verdict. Once a contestant has no further try, whatever text it has goes to the evaluator.
"""

from __future__ import annotations

from kernelgauge.backends.registry import detect
from kernelgauge.checks.rules import SETS, read, settle
from kernelgauge.generation.extraction import Extracted
from kernelgauge.schema import KernelPolicyName, Problem
from kernelgauge.syntax import unreadable


def refusal(
    found: Extracted, problem: Problem, backend: str, kernel_policy: KernelPolicyName = "default"
) -> str | None:
    """Why this candidate is not worth an evaluation, in words for its author; None if it is.

    Args:
        problem: what it answers.
        backend: the kernel language that was asked for.
        kernel_policy: what counts as a kernel. Only what no run could deny is refused for it here.
    """
    if found.source is None:
        return f"{found.notes[0]}."
    if not found.whole:
        notes = f" ({found.notes[0]})" if found.notes else ""
        return f"{_not_whole(found.source)}{notes}."
    if found.missing:
        pieces = ", ".join(found.missing)
        return (
            f"the file compiles {pieces}, which it does not hold: kernels go into it as strings, for `load_inline`."
        )
    written = detect(found.source)
    if written != backend:
        return f"the file is written for {written}, and a candidate in {backend} was asked for."
    return _against(kernel_policy, found.source, problem, written)


def _against(name: KernelPolicyName, source: str, problem: Problem, backend: str) -> str | None:
    policy = SETS[name]
    found = settle(read(source, problem.source, backend, policy), None, policy)
    broken = next((finding for finding in found if finding.severity == "refuse"), None)
    if broken is None:
        return None
    excerpt = f" ({broken.excerpt})" if broken.excerpt else ""
    return f"line {broken.line} breaks the rule {broken.rule}: {broken.reason}{excerpt}."


def _not_whole(source: str) -> str:
    if why := unreadable(source):
        return f"the file {why}"
    if "class ModelNew" in source:
        return "the code block has no end"
    return "the file defines no ModelNew at its top level"

"""What an agent's tools know of the sample they are used in: its problem, its judge, what it has tried and spent.

A solver before all others puts that into the sample's store, so that the tools work in anybody's agent.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
from inspect_ai.log import transcript
from inspect_ai.model import ModelOutput
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.tool import ToolError
from inspect_ai.util import Store, store

from kernelgauge.generation.extraction import extract
from kernelgauge.generation.prompts.prompt import Templates
from kernelgauge.models.asking.active import tell
from kernelgauge.models.asking.solver import ATTEMPTS, in_log
from kernelgauge.models.budget.cost import limit_reached
from kernelgauge.models.judging.judge import TaskJudge, judge_of
from kernelgauge.models.judging.scorer import CHOSEN, cut_off, verdict_of
from kernelgauge.models.judging.threads import on_disk
from kernelgauge.models.judging.verdict_text import explained
from kernelgauge.models.setting import TaskSetting
from kernelgauge.schema import Attempt, Budget, Evaluation, Problem, Spent, total
from kernelgauge.search.fitness import fitness

_HERE = "kernelgauge_workbench"
_BEST = "kernelgauge_best"
_SAID = "kernelgauge_said"
_SUBMITTED = "kernelgauge_submitted"
SPENT = "spent"

GENERATION_CONTEXT = "kernelgauge_told"
"""In a sample's store: how its model was asked besides what the task says, as a `GenerationContext`."""

SUBMIT = "submit"
"""The tool that ends an agent's work."""


@solver
def at_hand(
    templates: str | None = None, budget: dict[str, Any] | None = None, header: dict[str, Any] | None = None
) -> Solver:
    """Makes the tools of `inspect.tools` work in whatever solver comes after it, and the run's header true.

    Args:
        header: the run's, as far as the task knows it; it stands in the log's plan, where `logs.LoggedRun` finds it.
    """

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        said = {name: state.metadata[name] for name in ("setting", "problem")}
        context = tell(judge_of(TaskSetting.model_validate(said["setting"])), state)
        state.store.set(GENERATION_CONTEXT, context.model_dump(mode="json"))
        who = {"sample": state.epoch - 1, "contestant": str(state.model)}
        state.store.set(_HERE, {**said, **who, "templates": templates, "budget": budget or {}})
        return state

    return solve


def sample_here() -> int:
    """Which sample of its problem is under way; 0 outside of the task."""
    return int((store().get(_HERE) or {}).get("sample", 0))


@dataclass(frozen=True)
class Workbench:
    """One sample of one problem, as its agent works on it."""

    judge: TaskJudge
    problem: Problem
    sample: int
    contestant: str
    budget: Budget
    templates: Templates
    held: Store

    @property
    def spent(self) -> Spent:
        """By this sample so far."""
        return Spent.model_validate(self.held.get(SPENT, {}))

    @property
    def best(self) -> str | None:
        """The source of the best candidate that was judged, else of the last that was only said; None if none was."""
        held: dict[str, Any] = self.held.get(_BEST) or {"source": self.held.get(_SAID)}
        source: str | None = held["source"]
        return source

    @property
    def submitted(self) -> bool:
        """Whether the agent's last words were that it submits."""
        return bool(self.held.get(_SUBMITTED))

    @property
    def finished(self) -> bool:
        """Whether this sample is, as far as the run folder knows it: what the run's budget ended is not."""
        kept = sorted(self.judge.ledger.kept(self.problem, self.sample).items())
        said = [attempt.output for _, attempt in kept if attempt.output]
        if not said or _submits(ModelOutput.model_validate_json(said[-1])):
            return True
        spent = total(attempt for _, attempt in kept)
        return limit_reached(self.budget, spent, aside="evaluations") is not None

    def hear(self, output: ModelOutput) -> None:
        """What the agent said: it may hold a candidate, or be its last words."""
        self.held.set(_SUBMITTED, _submits(output))
        found = extract(output.completion, cut_off(output))
        if found.whole:
            self.held.set(_SAID, found.source)

    def ended(self, aside: str | None = None) -> str | None:
        """Which limit of the budget is reached, one aside. Raises UsageError if it is in dollars without a price."""
        return limit_reached(self.budget, self.spent, aside)

    @property
    def before(self) -> Attempt | None:
        """What came next when this sample was worked on before, and was interrupted; None where nothing is known."""
        return self.judge.kept(self.problem, self.sample).get(len(self.held.get(ATTEMPTS, [])))

    async def note(self, attempt: Attempt) -> None:
        """Add a call or an evaluation to what was tried and spent, and to the run folder unless that has it."""
        before, number = self.before, len(self.held.get(ATTEMPTS, []))
        self.held.set(SPENT, (self.spent + attempt.spent).model_dump(mode="json"))
        self.held.set(ATTEMPTS, [*self.held.get(ATTEMPTS, []), in_log(attempt)])
        same = before is not None and (before.answer, before.source) == (attempt.answer, attempt.source)
        if before is not None and same and (before.evaluation or not attempt.evaluation):
            return
        ledger = self.judge.ledger
        with anyio.CancelScope(shield=True):
            if same:  # it was judged anew
                await on_disk(ledger.keep, self.problem, self.sample, number, attempt, attempt.spent)
            else:
                await on_disk(ledger.add, self.problem, self.sample, attempt)

    async def evaluate(self, text: str) -> Attempt:
        """Judge a candidate that an agent has written, in or out of a code block, unless it was before.

        Raises:
            KernelgaugeError: the machine failed, or the problem's own code. That is an error of the sample, and it
                goes on from here another time: no numbers shift.
        """
        before = self.before
        if before is not None and before.answer == text and (before.evaluation or before.refusal):
            attempt = before
        else:
            attempt = await self._judged(text)
        if attempt.evaluation is not None:
            transcript().info(explained(attempt.evaluation), source="kernelgauge")
        await self.note(attempt)
        self._keep_best(attempt)
        return attempt

    async def _judged(self, text: str) -> Attempt:
        found = extract(text)
        attempt = Attempt(answer=text, source=found.source, refusal=found.notes[0] if found.source is None else "")
        if found.source is not None:
            verdict = await verdict_of(self.judge, self.problem, found, self.contestant, self.sample, final=False)
            if isinstance(verdict, Evaluation):
                spent = Spent(evaluations=1, seconds=sum(verdict.seconds.values()))
                attempt = attempt.model_copy(update={"evaluation": verdict, "spent": spent})
            else:
                attempt = attempt.model_copy(update={"refusal": verdict.reason})
        return attempt

    def _keep_best(self, attempt: Attempt) -> None:
        if attempt.evaluation is None:
            return
        self.held.set(CHOSEN, True)
        reached = list(fitness(attempt))
        if reached > self.held.get(_BEST, {"fitness": []})["fitness"]:
            self.held.set(_BEST, {"fitness": reached, "source": attempt.source})


def _submits(output: ModelOutput) -> bool:
    calls = output.message.tool_calls if output.choices else None
    return any(call.function == SUBMIT for call in calls or ())


def workbench() -> Workbench:
    """That of the sample under way. Raises ToolError outside of the task."""
    held = store()
    said = held.get(_HERE)
    if said is None:
        raise ToolError("this tool works in samples of the task kernelgauge/kernelbench only")
    judge = judge_of(TaskSetting.model_validate(said["setting"]))
    return Workbench(
        judge=judge,
        problem=judge.setting.problem(said["problem"]),
        sample=said["sample"],
        contestant=said["contestant"],
        budget=Budget.model_validate(said["budget"]),
        templates=Templates(Path(said["templates"]) if said["templates"] else None),
        held=held,
    )

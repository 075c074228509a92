"""The one solver that drives every strategy: ask, extract, screen, judge where the strategy looks at verdicts.

All it keeps of a sample is the history of attempts. What a strategy asks next, and what the contestant is then told,
follow from that alone, so a sample that was interrupted goes on from the attempts that the run folder holds.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
from inspect_ai.log import transcript
from inspect_ai.model import ChatMessage, ChatMessageAssistant, ChatMessageUser, ModelOutput
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import collect, span

from kernelgauge.generation.extraction import Extracted, extract
from kernelgauge.generation.ideas import ideas_in
from kernelgauge.generation.prompts.conversation import conversation
from kernelgauge.generation.prompts.prompt import Templates
from kernelgauge.generation.screening import refusal
from kernelgauge.models.asking.start import Start
from kernelgauge.models.budget.cost import limit_reached, paid_answer, spent_on
from kernelgauge.models.budget.ledger import OutOfBudget
from kernelgauge.models.judging.judge import TaskJudge, judge_of
from kernelgauge.models.judging.pending import Verdict
from kernelgauge.models.judging.scorer import (
    CHOSEN,
    NOT_ASKED,
    UNANSWERED,
    cut_off,
    profile_of,
    same_problem,
    setting_in,
    verdict_of,
)
from kernelgauge.models.judging.threads import on_disk
from kernelgauge.models.judging.verdict_text import explained
from kernelgauge.schema import Attempt, Budget, Evaluation, KernelPolicyName, Problem, Spent, Step, total
from kernelgauge.search.registry import strategy_named
from kernelgauge.search.strategy import Strategy

LAST = "kernelgauge_last"
"""In a model output's metadata: the contestant has no other answer, whatever it is told."""

ATTEMPTS = "attempts"
"""In a sample's store: all attempts, as `in_log` has them."""


@dataclass(frozen=True)
class Screen:
    """What may be refused before any evaluation, and what its author is then told."""

    backend: str
    """The kernel language that was asked for."""
    templates: Templates
    active: bool = True

    def refusal(self, found: Extracted, problem: Problem, kernel_policy: KernelPolicyName) -> str:
        """Why this candidate is refused; empty if it is not."""
        return (refusal(found, problem, self.backend, kernel_policy) or "") if self.active else ""


@solver
def search(
    backend: str,
    strategy: str = "sample",
    check_kernel: bool = True,
    max_regenerations: int = 10,
    templates: str | None = None,
    budget: dict[str, Any] | None = None,
    start: str | None = None,
    suite: str | None = None,
) -> Solver:
    """Ask for candidates as a strategy says; arguments as in `task.kernelbench`."""
    screen = Screen(backend, Templates(Path(templates) if templates else None), check_kernel)
    chosen = strategy_named(strategy, regenerations=max_regenerations if check_kernel else 0)
    return driven(chosen, screen, Budget.model_validate(budget or {}), Start(start, suite) if start else None)


def driven(
    strategy: Strategy,
    screen: Screen,
    budget: Budget = Budget(),  # noqa: B008  # it is immutable
    start: Start | None = None,
) -> Solver:
    """What carries out a strategy's steps until it has none, or the budget is spent.

    Args:
        start: where the candidates come from that stand in the history before anybody is asked.
    """

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        state.store.set(UNANSWERED, True)
        judge = judge_of(setting_in(state))
        await anyio.to_thread.run_sync(judge.open, str(state.model))
        sample = Conduct(judge, same_problem(judge, state), state, screen)
        known = judge.answered(sample.problem.key, sample.number)
        if known is None and await anyio.to_thread.run_sync(judge.misfit, sample.problem, False) is not None:
            state.store.set(UNANSWERED, False)
            return state  # nobody is asked: an answer costs money
        await sample.begin(None if known else start)
        plan = sample.go_on(strategy, budget)
        if known and (not plan or judge.ledger.exhausted or not sample.history):
            return restored(state, *known, judge.kept(sample.problem, sample.number))
        try:
            while plan:
                await sample.take(plan, strategy.judges)
                plan = sample.go_on(strategy, budget)
        except OutOfBudget:
            state.store.set(NOT_ASKED, not sample.asked)
        except BaseException:  # boundary: a limit of Inspect's, which also cancels, has the state scored as it is
            if sample.asked:
                sample.end(strategy, cut_short=True)
            raise
        state.store.set(UNANSWERED, False)
        return sample.end(strategy) if sample.history and not state.store.get(NOT_ASKED) else state

    return solve


@dataclass
class Conduct:
    """One sample under way: its history, and how the next attempts come about."""

    judge: TaskJudge
    problem: Problem
    state: TaskState
    screen: Screen
    history: list[Attempt] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.number = self.state.epoch - 1
        *self._before, self._first = self.state.messages
        self._made: dict[int, Attempt] = {}
        self._kept = self.judge.kept(self.problem, self.number)

    @property
    def asked(self) -> bool:
        """Whether anybody has answered yet."""
        return any(not attempt.given for attempt in self.history)

    async def begin(self, start: Start | None) -> None:
        """Put the candidate that was given, judged, before all others; where there is none, begin from nothing.

        Args:
            start: where it comes from; None: only one that is known from before.
        """
        found = await self._start(start)
        if found is None:
            return
        async with span("start", type="attempt"):
            if isinstance(found, Attempt) and found.evaluation is None:
                found = await self._judged_start(found)
            if isinstance(found, Attempt):
                self.history.append(found)
            else:
                transcript().info(f"the search begins from nothing: {found}", source="kernelgauge")

    async def _start(self, start: Start | None) -> Attempt | str | None:
        """The given attempt, or why there is none; None where the search begins, or began before, from nothing."""
        if known := self._kept.get(0):
            return known if known.given else None
        if start is None:
            return None
        setting = self.judge.setting
        return await start.attempt(self.problem, setting.device, setting.chosen_protocol().tolerance.math)

    async def _judged_start(self, attempt: Attempt) -> Attempt | str:
        """It with its verdict; or why it can have none here."""
        found, who = Extracted(attempt.source), str(self.state.model)
        verdict = await verdict_of(self.judge, self.problem, found, who, self.number, final=False)
        transcript().info(explained(verdict), source="kernelgauge")
        if not isinstance(verdict, Evaluation):
            return verdict.reason
        cost = Spent(evaluations=1, seconds=sum(verdict.seconds.values()))
        return await self._changed(0, attempt, cost, evaluation=verdict)

    def go_on(self, strategy: Strategy, budget: Budget) -> list[Step]:
        """The next steps that are to be paid for: what is known of them from before is in the history already."""
        while plan := self._plan(strategy, budget):
            known = [self._known(len(self.history) + place, step) for place, step in enumerate(plan)]
            if any(each is None or (strategy.judges and _to_judge(each)) for each in known):
                return plan
            self.history += [each for each in known if each is not None]
        return []

    def _plan(self, strategy: Strategy, budget: Budget) -> list[Step]:
        spent = total(self.history)
        if any(attempt.last for attempt in self.history) or limit_reached(budget, spent):
            return []
        return list(strategy.plan(self.history))[: budget.steps(spent)]

    def _known(self, number: int, step: Step) -> Attempt | None:
        """The attempt of that number if it was made before, and was asked the same."""
        known = self._kept.get(number)
        return known if known is not None and known.step == step and not known.given else None

    async def take(self, steps: Sequence[Step], judged: bool) -> None:
        """Take some steps at once; the attempts join the history in the order of the steps."""
        for number in dict.fromkeys(step.after for step in steps if step.after is not None):
            if any(step.after == number and step.feedback == "G+E+P" for step in steps):
                await self._profile(number)
        start = len(self.history)
        taken = [self._ended(start + place, step, judged) for place, step in enumerate(steps)]
        try:
            # For a single one the viewer need not show that it might have been one of several.
            ended = await collect(*taken) if len(taken) > 1 else [await taken[0]]
        finally:  # where it is cancelled, some may have come
            numbers = range(start, start + len(steps))
            self.history += [self._made[number] for number in numbers if number in self._made]
        if errors := [each for each in ended if isinstance(each, Exception)]:
            raise next((each for each in errors if not isinstance(each, OutOfBudget)), errors[0])

    async def _ended(self, number: int, step: Step, judged: bool) -> Attempt | Exception:
        """An attempt, or what prevented it: the others under way have their price and must not end with it."""
        try:
            async with span(f"attempt {number + 1}", type="attempt"):
                attempt = self._known(number, step) or await self._asked(number, step)
                self._made[number] = attempt
                return await self._judged(number, attempt) if judged and _to_judge(attempt) else attempt
        except Exception as error:  # boundary: raised again when all have ended
            return error

    async def _asked(self, number: int, step: Step) -> Attempt:
        messages = self._messages(number, step)
        with self.judge.asking():
            async with self.judge.ledger.call():
                started = time.monotonic()
                output, limit = await paid_answer(messages)
                attempt = self._read(step, output, time.monotonic() - started)
                await self._keep(number, attempt, attempt.spent)
        if attempt.refusal:
            transcript().info(f"**refused**: {attempt.refusal}", source="kernelgauge")
        if limit is not None:
            raise limit
        return attempt

    def _read(self, step: Step, output: ModelOutput, seconds: float) -> Attempt:
        said = output.completion if output.choices else ""
        cut = cut_off(output)
        found = extract(said, cut) if step.asks == "candidate" else None
        return Attempt(
            step=step,
            answer=said,
            source=found.source if found else None,
            ideas=() if found else ideas_in(said),
            refusal=self.screen.refusal(found, self.problem, self.judge.protocol.kernel_policy) if found else "",
            cut_off=cut,
            last=bool((output.metadata or {}).get(LAST)),
            spent=spent_on(output, seconds),
        )

    async def _judged(self, number: int, attempt: Attempt) -> Attempt:
        found = Extracted(attempt.source)
        who = str(self.state.model)
        verdict = await verdict_of(self.judge, self.problem, found, who, self.number, final=False)
        transcript().info(explained(verdict), source="kernelgauge")
        if not isinstance(verdict, Evaluation):  # it cannot run here at all
            return await self._changed(number, attempt, Spent(), refusal=verdict.reason)
        cost = Spent(evaluations=1, seconds=sum(verdict.seconds.values()))
        return await self._changed(number, attempt, cost, evaluation=verdict)

    async def _profile(self, number: int) -> None:
        attempt = self.history[number]
        if not attempt.passed or attempt.profile or attempt.source is None:
            return
        text, cost = await profile_of(self.judge, self.problem, attempt.source, number)
        self.history[number] = await self._changed(number, attempt, cost, profile=text)

    async def _changed(self, number: int, attempt: Attempt, cost: Spent, **news: object) -> Attempt:
        changed = attempt.model_copy(update={**news, "spent": attempt.spent + cost})
        await self._keep(number, changed, cost)
        return changed

    async def _keep(self, number: int, attempt: Attempt, cost: Spent) -> None:
        self._made[number] = attempt
        # Whatever ends the sample now, the answer has been paid for.
        with anyio.CancelScope(shield=True):
            await on_disk(self.judge.ledger.keep, self.problem, self.number, number, attempt, cost)

    def _messages(self, number: int, step: Step) -> list[ChatMessage]:
        """What the contestant is told at a step. Our own contestants know by the first message's metadata where."""
        said = conversation(self._first.text, self.history, step, self.screen.templates)
        messages: list[ChatMessage] = [
            ChatMessageUser(content=text) if role == "user" else ChatMessageAssistant(content=text)
            for role, text in said
        ]
        earlier = sum(attempt.step.asks == "candidate" and not attempt.given for attempt in self.history)
        turn = earlier + number - len(self.history)
        asked = {"sample": self.number, "turn": turn, "asks": step.asks}
        messages[0].metadata = {**(self._first.metadata or {}), **asked}
        return [*self._before, *messages]

    def end(self, strategy: Strategy, cut_short: bool = False) -> TaskState:
        """The state with the attempt that is the answer: its conversation, its output, and all attempts.

        Args:
            cut_short: whether a limit has ended it: where there is no candidate yet, none was missed.
        """
        chosen = strategy.choose(self.history)
        attempt, state = self.history[chosen], self.state
        state.output = ModelOutput.from_content(
            str(state.model), attempt.answer, stop_reason="max_tokens" if attempt.cut_off else "stop"
        )
        state.store.set(UNANSWERED, cut_short and all(each.source is None for each in self.history))
        state.store.set(CHOSEN, sum(each.evaluation is not None for each in self.history) > 1)
        state.store.set(ATTEMPTS, [in_log(each) for each in self.history])
        state.store.set("spent", total(self.history).model_dump(mode="json"))
        # Last, for it fails where Inspect limits the messages of a sample.
        state.messages = [*self._messages(chosen, attempt.step), state.output.message]
        return state


def _to_judge(attempt: Attempt) -> bool:
    return not attempt.refusal and attempt.source is not None and attempt.evaluation is None


def in_log(attempt: Attempt) -> dict[str, Any]:
    """An attempt whole, as a run folder has it, and its verdict in short for whoever looks at a sample."""
    verdict = attempt.evaluation
    return {
        **json.loads(attempt.model_dump_json()),  # Inspect would write null for an infinite error
        "outcome": verdict.outcome.value if verdict else None,
        "reason": verdict.reason if verdict else "",
        "speedup": verdict.speedup if verdict else None,
    }


def restored(state: TaskState, source: str | None, verdict: Verdict, kept: Mapping[int, Attempt]) -> TaskState:
    """A sample that the run folder holds already, with the attempts kept: nobody is asked again."""
    attempts = [kept[number] for number in sorted(kept)]
    state.store.set(ATTEMPTS, [in_log(each) for each in attempts])
    state.store.set("spent", total(attempts).model_dump(mode="json"))
    reason = "" if isinstance(verdict, Evaluation) else verdict.reason
    text = f"```python\n{source}```" if source is not None else f"No candidate: {reason}"
    state.output = ModelOutput.from_content(str(state.model), text)
    state.store.set(UNANSWERED, False)
    state.store.set("restored", True)
    state.messages.append(state.output.message)
    return state

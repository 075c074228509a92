"""The one solver that drives every strategy: ask, extract, screen, and judge where the strategy looks at verdicts."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import anyio
from inspect_ai.model import ChatMessage, ChatMessageUser, ModelOutput
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import span

from kernelgauge.generation.extraction import Extracted
from kernelgauge.generation.prompts.prompt import Templates
from kernelgauge.generation.screening import refusal
from kernelgauge.inspect.judge import Judge, Verdict, judge_of
from kernelgauge.inspect.scorer import answer_in, cut_off, same_problem, setting_in, verdict_of
from kernelgauge.schema import Evaluation, Problem, RuleSetName
from kernelgauge.search.sample import Sample
from kernelgauge.search.strategy import Attempt, Step, Strategy

LAST = "kernelgauge_last"
"""In a model output's metadata: the contestant has no other answer, whatever it is told."""


@dataclass
class _History:
    """The attempts at one problem, with what Inspect keeps of each."""

    problem: Problem
    attempts: list[Attempt] = field(default_factory=list)
    messages: list[list[ChatMessage]] = field(default_factory=list)
    outputs: list[ModelOutput] = field(default_factory=list)


@dataclass(frozen=True)
class Screen:
    """What may be refused before any evaluation, and what its author is then told."""

    backend: str
    """The kernel language that was asked for."""
    templates: Templates
    active: bool = True

    def refusal(self, found: Extracted, problem: Problem, rules: RuleSetName) -> str:
        """Why this candidate is refused; empty if it is not."""
        return (refusal(found, problem, self.backend, rules) or "") if self.active else ""


@solver
def sample(
    backend: str,
    check_kernel: bool = True,
    max_regenerations: int = 10,
    templates: str | None = None,
) -> Solver:
    """One sample a problem: the strategy `sample`; arguments as in `task.kernelbench`."""
    screen = Screen(backend, Templates(Path(templates) if templates else None), check_kernel)
    return driven(Sample(regenerations=max_regenerations if check_kernel else 0), screen)


def driven(strategy: Strategy, screen: Screen) -> Solver:
    """A solver that carries out a strategy's steps until it has none."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        judge = judge_of(setting_in(state))
        await anyio.to_thread.run_sync(judge.open, str(state.model))
        if known := judge.answered(state.metadata["problem"], state.epoch - 1):
            return _restored(state, *known)
        history = _History(same_problem(judge, state))
        if await anyio.to_thread.run_sync(judge.misfit, history.problem, False):
            return state  # nobody is asked: an answer costs money
        first = list(state.messages)
        _address(first, state)
        while (step := strategy.plan(history.attempts)) is not None:
            async with span(f"attempt {len(history.attempts) + 1}"):
                state.messages = _conversation(first, history, step, screen.templates)
                with judge.asking():
                    state = await generate(state)
                await _note(state, history, step, screen, judge, strategy.judges)
        chosen = strategy.choose(history.attempts)
        state.messages, state.output = history.messages[chosen], history.outputs[chosen]
        state.store.set("attempts", [attempt.model_dump(mode="json") for attempt in history.attempts])
        return state

    return solve


async def _note(state: TaskState, history: _History, step: Step, screen: Screen, judge: Judge, judged: bool) -> None:
    """Add the answer that the state holds to the history, `judged` where nothing was refused."""
    found = answer_in(state)
    refused = screen.refusal(found, history.problem, judge.rules.rules)
    verdict = None
    if judged and not refused and found.source is not None:
        who, number = str(state.model), state.epoch - 1
        verdict = await verdict_of(judge, history.problem, found, who, number, final=False)
    history.attempts.append(
        Attempt(
            answer=state.output.completion,
            source=found.source,
            refusal=refused,
            evaluation=verdict if isinstance(verdict, Evaluation) else None,
            parent=step.after,
            last=bool((state.output.metadata or {}).get(LAST)),
        )
    )
    history.messages.append(list(state.messages))
    history.outputs.append(state.output)


def _conversation(first: list[ChatMessage], history: _History, step: Step, templates: Templates) -> list[ChatMessage]:
    if step.after is None:
        return list(first)
    attempt, output = history.attempts[step.after], history.outputs[step.after]
    if attempt.evaluation is not None:
        said = templates.judged(attempt.evaluation)
    else:
        said = templates.refused(attempt.refusal or "it holds no candidate.", cut_off(output))
    return [*history.messages[step.after], ChatMessageUser(content=said)]


def _address(messages: list[ChatMessage], state: TaskState) -> None:
    """Say in the first message's metadata which sample this is: our own contestants know problems by their keys."""
    messages[0] = messages[0].model_copy(
        update={"metadata": {**(messages[0].metadata or {}), "sample": state.epoch - 1}}
    )


def _restored(state: TaskState, source: str | None, verdict: Verdict) -> TaskState:
    """A sample that the run folder holds already: nobody is asked again."""
    reason = "" if isinstance(verdict, Evaluation) else verdict.reason
    text = f"```python\n{source}```" if source is not None else f"No candidate: {reason}"
    state.output = ModelOutput.from_content(str(state.model), text)
    state.messages.append(state.output.message)
    state.store.set("restored", True)
    return state

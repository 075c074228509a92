"""The scorer: an answer's candidate, judged by our evaluator, as a score with one value for each figure."""

from __future__ import annotations

import math
from typing import Any

import anyio
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import Score, Scorer, Target, scorer
from inspect_ai.solver import TaskState
from inspect_ai.util import concurrency, display_counter

from kernelgauge.backends.registry import detect
from kernelgauge.errors import UsageError
from kernelgauge.generation.extraction import Extracted, extract
from kernelgauge.models.judging.judge import PLACES, TaskJudge, judge_of
from kernelgauge.models.judging.metrics import by_level, geometric_mean, overall
from kernelgauge.models.judging.pending import PendingEvaluation, Verdict
from kernelgauge.models.judging.threads import at_device
from kernelgauge.models.judging.verdict_text import explained
from kernelgauge.models.setting import TaskSetting
from kernelgauge.schema import Candidate, Evaluation, NoCandidate, Problem, Spent, TooLarge

THRESHOLDS = (0.0, 0.5, 0.8, 1.0, 1.5, 2.0)
"""The values of p that are always reported."""

NOT_ASKED = "kernelgauge_not_asked"
"""In a sample's store: nobody was asked, for the budget of the run was spent."""

UNANSWERED = "kernelgauge_unanswered"
"""In a sample's store: it has no answer yet. Where that still holds at its end, a limit of Inspect's has ended it."""

CHOSEN = "kernelgauge_chosen"
"""In a sample's store: the answer was chosen for its verdict among others, and is to be judged anew."""

_POLL_SECONDS = 0.05


@scorer(metrics=[overall(), by_level(), geometric_mean()], name="kernel")
def kernel(
    device: str | None = None,
    protocol: str | None = None,
    precision: str | None = None,
    timing_method: str | None = None,
    num_correct_trials: int | None = None,
    num_perf_trials: int | None = None,
    measure_performance: bool | None = None,
    p: float | None = None,
    verbose: bool | None = None,
    build_dir: str | None = None,
    jobs: int | None = None,
) -> Scorer:
    """Judges the candidate in a finished answer. What is not given is as when the answer was asked for.

    Values of a score: `correct`, `fast_P` for each threshold (1 where the whole interval of the speedup is above P),
    `fast_P_point` for the chosen P by the estimate alone, and `speedup` (NaN where there is none). A problem that
    does not count under the protocol is unscored.
    """
    given = dict(locals())
    said = {name: value for name, value in given.items() if value is not None}

    async def score(state: TaskState, target: Target) -> Score:
        shown = {name: said.get(name, state.metadata[name]) for name in ("p", "verbose")}
        judge = judge_of(setting_in(state, **{name: said[name] for name in said.keys() - shown}))
        problem = same_problem(judge, state)
        found = answer_in(state)
        if state.store.get(NOT_ASKED):
            return Score.unscored(reason="out_of_budget", explanation="the budget of the run was spent before")
        if state.store.get(UNANSWERED):  # not its author's doing, and the same command asks again
            return Score.unscored(reason="unanswered", explanation="it was ended before there was an answer")
        fresh = bool(state.store.get(CHOSEN))
        verdict = await verdict_of(judge, problem, found, str(state.model), state.epoch - 1, fresh=fresh)
        return as_score(verdict, found, timed=judge.setting.measure_performance, **shown)

    return score


def setting_in(state: TaskState, **changed: Any) -> TaskSetting:
    """How this sample's candidate is to be judged: as the task says, but for what is changed."""
    return TaskSetting.model_validate({**state.metadata["setting"], **changed})


def answer_in(state: TaskState) -> Extracted:
    """The candidate in the state's output."""
    if not state.output.choices:
        return extract("")
    return extract(state.output.completion, cut_off(state.output))


def cut_off(output: ModelOutput) -> bool:
    """Whether a model stopped because it was at its limit."""
    return not output.empty and output.stop_reason in ("max_tokens", "model_length")


def same_problem(judge: TaskJudge, state: TaskState) -> Problem:
    """The problem that a sample is about. Raises UsageError if it has another text by now."""
    problem = judge.setting.problem(state.metadata["problem"])
    if problem.digest != state.metadata["problem_digest"]:
        raise UsageError(
            f"problem {problem.key} has another text than when it was answered: other sizes, or another version"
        )
    return problem


async def verdict_of(
    judge: TaskJudge,
    problem: Problem,
    found: Extracted,
    contestant: str,
    sample: int,
    final: bool = True,
    fresh: bool = False,
) -> Verdict:
    """Have a candidate judged, without keeping anybody from asking models meanwhile.

    Args:
        final: whether it is its sample's answer, rather than one of several attempts.
        fresh: whether to judge it anew though its verdict is known.

    Raises:
        KernelgaugeError: the machine failed, or the problem's own code.
    """
    await anyio.to_thread.run_sync(judge.open, contestant)
    async with concurrency("evaluations", PLACES):
        if misfit := await at_device(judge.misfit, problem, final):
            return misfit
        if found.source is None:
            return await at_device(judge.skip, problem, contestant, sample, found.notes[0], final)
        candidate = Candidate(
            problem=problem.key,
            source=found.source,
            backend=detect(found.source),
            contestant=contestant,
            sample=sample,
        )
        pending = await at_device(judge.submit, problem, candidate, final, fresh)
        if not isinstance(pending, PendingEvaluation):
            return pending
        try:
            await _done(judge, pending)
        except anyio.get_cancelled_exc_class():
            judge.withdraw(pending)
            raise
        return await at_device(judge.settle, pending)


async def profile_of(judge: TaskJudge, problem: Problem, source: str | None, turn: int) -> tuple[str, Spent]:
    """Where a candidate's time goes, as `TaskJudge.profile` says it, and what that cost: no evaluation, but seconds.

    It takes a place like those that are judged.
    """
    async with concurrency("evaluations", PLACES):
        text, seconds = await at_device(judge.profile, problem, source, turn)
        return text, Spent(seconds=seconds)


async def _done(judge: TaskJudge, pending: PendingEvaluation) -> None:
    shown = None
    while not pending.future.done():
        if (load := judge.load) != shown:
            display_counter("to judge", f"{load.waiting}+{load.judging}")
            shown = load
        await anyio.sleep(_POLL_SECONDS)


def as_score(verdict: Verdict, found: Extracted, *, p: float, timed: bool, verbose: bool = False) -> Score:
    """A verdict as Inspect's score; `timed` is whether speedups were asked for."""
    notes = [note for note in found.notes if not isinstance(verdict, NoCandidate) or note != verdict.reason]
    text = explained(verdict, notes, verbose)
    said = {"verdict": verdict.model_dump(mode="json")}
    if isinstance(verdict, TooLarge):
        return Score.unscored(reason="too_large", answer=found.source, explanation=text, metadata=said)
    if not verdict.scored:
        return Score.unscored(reason="not_counted", answer=found.source, explanation=text, metadata=said)
    record = verdict if isinstance(verdict, Evaluation) else None
    values: dict[str, str | int | float | bool | None] = {"correct": int(record is not None and record.passed)}
    for threshold in sorted({*THRESHOLDS, p} if timed else {0.0}):
        values[f"fast_{threshold:g}"] = int(record is not None and record.faster_than(threshold))
    if timed:
        speedup = record.speedup if record is not None and record.speedup is not None else math.nan
        values[f"fast_{p:g}_point"] = int(speedup > p) if p else values["correct"]
        values["speedup"] = speedup
    reason = None if record is not None else "invalid_response_format"
    return Score(value=values, answer=found.source, explanation=text, reason=reason, metadata=said)

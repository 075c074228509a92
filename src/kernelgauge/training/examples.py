"""Answers with verdicts as data to train on: supervised, preferences, whole trajectories."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Literal, get_args

from kernelgauge.errors import UsageError
from kernelgauge.schema import Evaluation, Outcome, Record, Spent, Standing
from kernelgauge.training.dataset import Message

ExampleFormat = Literal["sft", "dpo", "trajectories"]
"""`sft`: right answers after what was asked; `dpo`: a better and a worse answer to the same, judged alike;
`trajectories`: all that a contestant said of a problem, in order."""

FORMATS: tuple[str, ...] = get_args(ExampleFormat)


class Verdict(Record):
    """What of a verdict data to train on need."""

    outcome: Outcome
    rule: str | None = None
    reason: str = ""
    standing: Standing | None = None
    speedup: float | None = None
    interval: tuple[float, float] | None = None
    """Confidence interval of `speedup`."""
    protocol: str
    sizes: str
    math: str | None
    device: str
    hardware: str
    """GPU, or processor."""
    counts: bool = True
    """False where an answer that skips the work would have passed: such a verdict says nothing."""

    @property
    def passed(self) -> bool:
        return self.outcome is Outcome.PASSED and self.counts

    @property
    def conditions(self) -> tuple[str | None, ...]:
        """What two verdicts have in common whose speedups may be compared."""
        return self.hardware, self.device.partition(":")[0], self.protocol, self.math, self.sizes

    def better_than(self, other: Verdict) -> bool:
        """Right against wrong, or surely faster: by the whole intervals."""
        if not (self.counts and other.counts):
            return False
        if self.passed != other.passed:
            return self.passed
        both = self.interval and other.interval
        return bool(both) and self.passed and self.interval[0] > other.interval[1]  # type: ignore[index]


def verdict_of(record: Evaluation) -> Verdict:
    """What data to train on need of a record."""
    there = record.environment
    return Verdict(
        outcome=record.outcome,
        rule=record.rule,
        reason=record.reason,
        standing=record.standing,
        speedup=record.speedup,
        interval=record.speedup_interval,
        protocol=record.protocol,
        sizes=record.sizes,
        math=record.math,
        device=record.device,
        hardware=(there.gpu if record.device != "cpu" else None) or there.cpu,
        counts=record.scored,
    )


class Turn(Record):
    """One answer: what it was an answer to, what became of it, what it cost."""

    run: str
    """Path of the run or file it is from, as it was given."""
    contestant: str
    problem: str
    sample: int
    number: int
    """Its place among the turns of that sample."""
    after: int | None = None
    """The turn that it went on from; null for a first answer."""
    backend: str
    """The kernel language that was asked for."""
    prompt: tuple[Message, ...]
    """All messages before it, feedback on earlier answers included."""
    answer: str
    source: str | None = None
    """The candidate in it; null if there is none."""
    refusal: str = ""
    """Why it was refused before any evaluation."""
    given: bool = False
    """Whether it was there before anybody was asked."""
    verdict: Verdict | None = None
    """Null where it was not judged."""
    spent: Spent = Spent()
    """Calls, tokens, seconds, dollars."""

    @property
    def good(self) -> bool:
        """Right, and not slower than eager."""
        return self.verdict is not None and self.verdict.passed and self.verdict.standing != "slower"

    @property
    def supervises(self) -> bool:
        """Whether it is a line of `sft`: good, and somebody's answer."""
        return self.good and not self.given


class Supervised(Record):
    """A line of `sft`: a conversation whose last message is a right answer."""

    messages: tuple[Message, ...]
    run: str
    contestant: str
    problem: str
    sample: int
    number: int
    backend: str
    verdict: Verdict
    spent: Spent


class Preference(Record):
    """A line of `dpo`: what was asked, a better and a worse answer."""

    prompt: tuple[Message, ...]
    chosen: tuple[Message, ...]
    rejected: tuple[Message, ...]
    problem: str
    backend: str
    chosen_verdict: Verdict
    rejected_verdict: Verdict
    chosen_from: str
    """Run, sample and number of the turn."""
    rejected_from: str


class Trajectory(Record):
    """A line of `trajectories`: all that was said of a problem in one sample, and what it cost in all."""

    run: str
    contestant: str
    problem: str
    sample: int
    turns: tuple[Turn, ...]
    verdict: Verdict | None
    """Of the answer that stands for the sample; null if it has none."""
    spent: Spent


def examples(turns: Iterable[Turn], form: str) -> Iterator[Record]:
    """Turns in one of the `FORMATS`; those of a sample must follow each other.

    Raises:
        UsageError: there is no such format.
    """
    makers: dict[str, Callable[[Iterable[Turn]], Iterator[Record]]] = {
        "sft": _supervised,
        "dpo": _preferences,
        "trajectories": _trajectories,
    }
    if form not in makers:
        raise UsageError(f"there is no format {form!r}: there are {', '.join(FORMATS)}")
    return makers[form](turns)


def _supervised(turns: Iterable[Turn]) -> Iterator[Supervised]:
    for turn in turns:
        if turn.supervises:
            assert turn.verdict is not None
            yield Supervised(
                messages=(*turn.prompt, *_said(turn)),
                **turn.model_dump(include={"run", "contestant", "problem", "sample", "number", "backend"}),
                verdict=turn.verdict,
                spent=turn.spent,
            )


def _preferences(turns: Iterable[Turn]) -> Iterator[Preference]:
    """Of all answers to the same messages that were judged alike the best one, beside each that is surely worse.

    Speedups of two machines, protocols, arithmetics or sizes are not compared.
    """
    asked: dict[tuple[tuple[Message, ...], tuple[str | None, ...]], list[Turn]] = {}
    for turn in turns:
        if turn.verdict is not None and not turn.given:
            asked.setdefault((turn.prompt, turn.verdict.conditions), []).append(turn)
    for (prompt, _), answers in asked.items():
        best = max(answers, key=_rank)
        for other in answers:
            if _same(best, other) or not best.good or not best.verdict.better_than(other.verdict):  # type: ignore[union-attr, arg-type]
                continue
            assert best.verdict is not None and other.verdict is not None
            yield Preference(
                prompt=prompt,
                chosen=_said(best),
                rejected=_said(other),
                problem=best.problem,
                backend=best.backend,
                chosen_verdict=best.verdict,
                rejected_verdict=other.verdict,
                chosen_from=_place(best),
                rejected_from=_place(other),
            )


def _trajectories(turns: Iterable[Turn]) -> Iterator[Trajectory]:
    for _, group in groupby(turns, key=lambda turn: (turn.run, turn.problem, turn.sample)):
        each = tuple(group)
        standing = [turn for turn in each if turn.verdict is not None]
        yield Trajectory(
            **each[0].model_dump(include={"run", "contestant", "problem", "sample"}),
            turns=each,
            verdict=max(standing, key=_rank).verdict if standing else None,
            spent=sum((turn.spent for turn in each), Spent()),
        )


def _same(one: Turn, other: Turn) -> bool:
    """Whether both say the same: what became of it twice is no preference."""
    return one.answer == other.answer or (one.source is not None and one.source == other.source)


def _rank(turn: Turn) -> tuple[bool, float]:
    assert turn.verdict is not None
    low = turn.verdict.interval[0] if turn.verdict.interval else 0.0
    return turn.verdict.passed, low


def _said(turn: Turn) -> tuple[Message, ...]:
    return (Message(role="assistant", content=turn.answer),)


def _place(turn: Turn) -> str:
    return f"{turn.run}, sample {turn.sample}, turn {turn.number}"

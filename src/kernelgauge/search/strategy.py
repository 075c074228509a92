"""The contract of a strategy.

A strategy knows neither prompts nor models nor devices. It sees what has been tried on one problem and says what to
ask next; whoever drives it (`inspect.solver`) asks the model, extracts, screens, judges, and keeps to the budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from kernelgauge.schema import Attempt, Step


class Strategy(Protocol):
    """What to try next. Implementations are immutable, and depend on nothing but the history.

    Attempts stand in the history in the order of the steps that they come from. A plan is made again only when all
    steps of the last one have been taken, so that several may be under way at once and a history that was cut off by
    a crash goes on to the same end.

    Before them all may stand a candidate that was given (`Attempt.given`): it is judged, and answers no step.
    """

    @property
    def judges(self) -> bool:
        """Whether each attempt is to be judged before the next decision."""

    def plan(self, history: Sequence[Attempt]) -> Sequence[Step]:
        """The next steps, which may be taken at once; none: enough has been tried."""

    def choose(self, history: Sequence[Attempt]) -> int:
        """Which attempt of a finished history is the contestant's answer. The history is not empty."""


def retries(history: Sequence[Attempt], most: int) -> list[Step]:
    """Ask again for what was refused before any evaluation, with the reason, `most` times each."""
    gone_on_from = {attempt.step.after for attempt in history}
    return [
        Step(after=number, idea=attempt.step.idea, island=attempt.step.island)
        for number, attempt in enumerate(history)
        if attempt.refusal
        and attempt.step.asks == "candidate"
        and number not in gone_on_from
        and _refusals(history, number) <= most
    ]


def is_retry(history: Sequence[Attempt], attempt: Attempt) -> bool:
    """Whether it was asked for because another one was refused."""
    return attempt.step.after is not None and bool(history[attempt.step.after].refusal)


def taken(history: Sequence[Attempt]) -> int:
    """How many steps were taken, those aside that ask again for what was refused."""
    return sum(not attempt.given and not is_retry(history, attempt) for attempt in history)


def _refusals(history: Sequence[Attempt], number: int) -> int:
    """Attempts in a row that were refused, this one included."""
    count = 1
    while (before := history[number].step.after) is not None and history[before].refusal:
        count, number = count + 1, before
    return count

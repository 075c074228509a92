"""The contract of a strategy, and the record it decides by.

A strategy knows neither prompts nor models nor devices. It sees what has been tried on one problem and says which
attempt to go on from; whoever drives it asks the model, extracts, screens and judges (`inspect.solver`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from kernelgauge.schema import Evaluation, Record


class Attempt(Record):
    """One call to a contestant, and what became of it."""

    answer: str
    """What the contestant said, reasoning left out."""
    source: str | None = None
    """The candidate in it; None if there is none."""
    refusal: str = ""
    """Why it was refused before any evaluation, in a sentence; empty if it was not."""
    evaluation: Evaluation | None = None
    """Its verdict; None where it was refused, or the strategy does not look at verdicts."""
    parent: int | None = None
    """The attempt that this one went on from, by its place in the history."""
    last: bool = False
    """Whether the contestant has no other answer, whatever it is told."""


class Step(Record):
    """Ask once more."""

    after: int | None = None
    """The attempt to go on from, with what was wrong about it; None: ask afresh."""


class Strategy(Protocol):
    """What to try next. Implementations are frozen, and depend on nothing but the history."""

    @property
    def judges(self) -> bool:
        """Whether each attempt is to be judged before the next decision."""

    def plan(self, history: Sequence[Attempt]) -> Step | None:
        """The next step; None: enough has been tried."""

    def choose(self, history: Sequence[Attempt]) -> int:
        """Which attempt of a finished history is the contestant's answer. The history is not empty."""

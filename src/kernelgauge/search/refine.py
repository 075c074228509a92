"""The strategy `refine`: one answer after the other, each with what is known of those before it."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from kernelgauge.schema import Attempt, Feedback, Record, Step
from kernelgauge.search.fitness import best
from kernelgauge.search.strategy import retries, taken


class Refine(Record):
    """One conversation in which each answer is followed by feedback; the best answer in it is kept.

    It begins with what was given, if something was.
    """

    turns: int = Field(default=10, ge=1)
    feedback: Feedback = "G+E"
    regenerations: int = Field(default=10, ge=0)

    @property
    def judges(self) -> bool:
        return True

    def plan(self, history: Sequence[Attempt]) -> Sequence[Step]:
        if not history:
            return [Step()]
        if again := retries(history, self.regenerations):
            return again
        if history[-1].refusal or taken(history) >= self.turns:
            return []
        return [Step(after=len(history) - 1, feedback=self.feedback)]

    def choose(self, history: Sequence[Attempt]) -> int:
        return best(history)

"""The strategy `refine`: one answer after the other, each with what is known of those before it."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from kernelgauge.schema import Attempt, Feedback, Record, Step
from kernelgauge.search.fitness import best
from kernelgauge.search.strategy import is_retry, retries


class Refine(Record):
    """One conversation in which each answer is followed by feedback; the best answer in it is kept."""

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
        taken = sum(not is_retry(history, attempt) for attempt in history)
        if history[-1].refusal or taken >= self.turns:
            return []
        return [Step(after=len(history) - 1, feedback=self.feedback)]

    def choose(self, history: Sequence[Attempt]) -> int:
        return best(history)

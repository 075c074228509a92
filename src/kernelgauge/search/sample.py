"""The strategy `sample`: so many independent answers, of which the best is kept."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from kernelgauge.schema import Attempt, Record, Step
from kernelgauge.search.fitness import best
from kernelgauge.search.strategy import retries


class Sample(Record):
    """Independent attempts. A single one is the published one-shot figure, and no verdict plays a part."""

    attempts: int = Field(default=1, ge=1)
    regenerations: int = Field(default=10, ge=0)
    """How often an answer that is refused before any evaluation may be given anew."""

    @property
    def judges(self) -> bool:
        return self.attempts > 1

    def plan(self, history: Sequence[Attempt]) -> Sequence[Step]:
        return retries(history, self.regenerations) if history else [Step()] * self.attempts

    def choose(self, history: Sequence[Attempt]) -> int:
        return best(history) if self.judges else len(history) - 1

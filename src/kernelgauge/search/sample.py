"""The strategy `sample`: one answer, asked again only while it cannot be judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kernelgauge.search.strategy import Attempt, Step


@dataclass(frozen=True)
class Sample:
    """One sample a problem, as in published one-shot figures. Verdicts play no part."""

    regenerations: int = 10
    """How often an answer that is refused before any evaluation may be given anew."""
    judges: bool = False

    def plan(self, history: Sequence[Attempt]) -> Step | None:
        if not history:
            return Step()
        newest = history[-1]
        if not newest.refusal or newest.last or len(history) > self.regenerations:
            return None
        return Step(after=len(history) - 1)

    def choose(self, history: Sequence[Attempt]) -> int:
        return len(history) - 1

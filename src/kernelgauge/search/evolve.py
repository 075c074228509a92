"""The strategy `evolve`: populations on islands, each with an archive of its best candidates of every kind.

After MAP-Elites (Mouret and Clune 2015) with islands, as program search with language models uses them
(Romera-Paredes et al. 2024): a prompt shows a parent with its verdict and others as inspirations, and the answer
joins the island.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from pydantic import Field

from kernelgauge.schema import Attempt, Feedback, Record, Step
from kernelgauge.search.behaviour import Behaviour, behaviour
from kernelgauge.search.fitness import best, fitness
from kernelgauge.search.strategy import retries, taken


class Evolve(Record):
    """One step on each island at a time; every so many rounds, parents come from the island next to it."""

    attempts: int = Field(default=30, ge=1)
    islands: int = Field(default=3, ge=1)
    inspirations: int = Field(default=2, ge=0)
    migration: int = Field(default=4, ge=1)
    """Rounds from one exchange between islands to the next."""
    seed: int = 0
    feedback: Feedback = "G+E"
    regenerations: int = Field(default=10, ge=0)

    @property
    def judges(self) -> bool:
        return True

    def plan(self, history: Sequence[Attempt]) -> Sequence[Step]:
        if again := retries(history, self.regenerations):
            return again
        done = taken(history)
        count = min(self.islands, self.attempts - done)
        return [self._step(history, island, done // self.islands) for island in range(count)]

    def choose(self, history: Sequence[Attempt]) -> int:
        return best(history)

    def _step(self, history: Sequence[Attempt], island: int, round_: int) -> Step:
        chance = random.Random(f"{self.seed}/{round_}/{island}")
        home = island
        if round_ and round_ % self.migration == 0:
            island_before = (island - 1) % self.islands
            home = island_before if elites(history, island_before) else island
        parents = elites(history, home)
        if not parents:
            return Step(island=island)
        parent = chance.choices(parents, [1 / place for place in range(1, len(parents) + 1)])[0]
        others = [each for each in dict.fromkeys([*elites(history, island), *parents]) if each != parent]
        shown = others[:1] + chance.sample(others[1:], max(0, min(self.inspirations - 1, len(others) - 1)))
        return Step(
            after=parent,
            fresh=True,
            feedback=self.feedback,
            inspirations=tuple(shown[: self.inspirations]),
            island=island,
        )


def elites(history: Sequence[Attempt], island: int) -> list[int]:
    """The archive of an island: its best attempt of every kind, the best first. What was given lives on each."""
    archive: dict[Behaviour, int] = {}
    for number, attempt in enumerate(history):
        if attempt.evaluation is None or attempt.source is None:
            continue
        if attempt.step.island != island and not attempt.given:
            continue
        kind = behaviour(attempt.source)
        held = archive.get(kind)
        if held is None or fitness(attempt) > fitness(history[held]):
            archive[kind] = number
    return sorted(archive.values(), key=lambda number: fitness(history[number]), reverse=True)

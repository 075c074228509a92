"""The strategy `tree`: ideas in words first, a branch for each, and the best branches go on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import Field

from kernelgauge.schema import Attempt, Feedback, Record, Step
from kernelgauge.search.fitness import best, fitness
from kernelgauge.search.strategy import is_retry, retries


class Tree(Record):
    """Ideas, an implementation of each, then so many rounds in which the best branches are improved.

    Where a candidate was given, ideas are about that one, and so is each implementation. It is a branch of its own.
    """

    ideas: int = Field(default=4, ge=1)
    beam: int = Field(default=2, ge=1)
    """Branches that go on in each round."""
    rounds: int = Field(default=3, ge=0)
    feedback: Feedback = "G+E"
    regenerations: int = Field(default=10, ge=0)

    @property
    def judges(self) -> bool:
        return True

    def plan(self, history: Sequence[Attempt]) -> Sequence[Step]:
        given = sum(bool(attempt.given) for attempt in history)
        about: dict[str, Any] = {"after": 0, "fresh": True, "feedback": self.feedback} if given else {}
        if len(history) == given:
            return [Step(asks="ideas", count=self.ideas, **about)]
        if len(history) == given + 1:
            thoughts = history[given].ideas[: self.ideas]
            # Who gave no ideas is asked for candidates all the same.
            carried_out = [Step(idea=(given, which), **about) for which in range(len(thoughts))]
            return carried_out or [Step(**about)] * self.ideas
        if again := retries(history, self.regenerations):
            return again
        grown = branches(history)
        going_on = sorted(grown, key=lambda branch: fitness(history[best(history, branch)]), reverse=True)[
            : self.beam
        ]
        # Implementations of ideas about what was given begin a new conversation.
        improved = sum(
            attempt.step.after is not None and not attempt.step.fresh and not is_retry(history, attempt)
            for attempt in history
        )
        if improved >= self.rounds * len(going_on):
            return []
        return [Step(after=_tip(history, branch), feedback=self.feedback) for branch in going_on]

    def choose(self, history: Sequence[Attempt]) -> int:
        return best(history)


def branches(history: Sequence[Attempt]) -> list[list[int]]:
    """Attempts by the one that each descends from; branches without any candidate left out."""
    root: dict[int, int] = {}
    grown: dict[int, list[int]] = {}
    for number, attempt in enumerate(history):
        if attempt.step.asks == "ideas":
            continue
        before = attempt.step.after
        root[number] = number if before is None or history[before].given else root[before]
        grown.setdefault(root[number], []).append(number)
    return [numbers for numbers in grown.values() if any(history[number].source is not None for number in numbers)]


def _tip(history: Sequence[Attempt], branch: list[int]) -> int:
    """Where a branch goes on: from its best attempt, or if that was tried, from the newest that was judged."""
    tried = {attempt.step.after for attempt in history}
    top = best(history, branch)
    if top not in tried:
        return top
    return next((n for n in reversed(branch) if n not in tried and not history[n].refusal), top)

"""Which inputs the next timed call gets: all kinds that were checked, in an order that nobody can foresee.

Were all timed calls drawn as the problem is published, a kernel could be right on every kind in its first calls and
then go over to something that holds on the published range alone, and is faster.
"""

from __future__ import annotations

import random
from collections.abc import Iterable

_random = random.SystemRandom()


class Deck:
    """Kinds of inputs (see `checks.inputs.vary`), dealt like cards: each other kind once, and as often the own one.

    The published inputs are what a figure is about, so they are half of all calls; dealing instead of drawing has
    every kind turn up in the fewest calls that anybody is timed with.

    Args:
        variants: the kinds; `own` need not be among them.
    """

    def __init__(self, variants: Iterable[str]):
        others = sorted(set(variants) - {"own"})
        self._cards = [*others, *["own"] * max(len(others), 1)]
        self._left: list[str] = []

    def deal(self) -> str:
        """The kind of the next call's inputs."""
        if not self._left:
            self._left = _random.sample(self._cards, len(self._cards))
        return self._left.pop()

"""Which operators of a package make a model slower, though each kernel has won alone.

A call of an operator asks its guard first. In a model that waits for its launches, that can cost more than a kernel
saves.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from kernelgauge.timing.ratio import paired

_CONFIDENCE = 0.99
"""Several operators are asked: one in twenty would go by chance."""

Turns = Callable[[Collection[str], Collection[str]], tuple[Sequence[float], Sequence[float]]]
"""Times of a model without these operators and without those, one after the other."""


class Gain(NamedTuple):
    """How many times faster a model is with an operator, with its interval of 99 %."""

    estimate: float
    low: float
    high: float

    def __str__(self) -> str:
        interval = f"{_CONFIDENCE:.0%} between {self.low:.3f} and {self.high:.3f}"
        return f"{self.estimate:.3f} times as fast with it ({interval})"


def hindering(operators: Collection[str], in_turns: Turns) -> dict[str, Gain]:
    """The operators without which a model is surely faster, the worst first.

    One goes at a time, and the others are measured again without it. If the rest still makes the model slower, as
    several can of which none does so surely, all of them hinder.
    """
    found: dict[str, Gain] = {}
    while left := [each for each in operators if each not in found]:
        gains = {each: _gain(in_turns, {*found, each}, set(found)) for each in left}
        worst = min(left, key=lambda each: gains[each].high)
        if gains[worst].high >= 1:
            whole = _gain(in_turns, set(operators), set(found)) if len(left) > 1 else gains[worst]
            return found | dict.fromkeys(left, whole) if whole.high < 1 else found
        found[worst] = gains[worst]
    return found


def _gain(in_turns: Turns, without: Collection[str], kept: Collection[str]) -> Gain:
    ratio = paired(*in_turns(without, kept), _CONFIDENCE)
    return Gain(ratio.estimate, ratio.low, ratio.high)

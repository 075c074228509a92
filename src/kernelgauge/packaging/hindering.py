"""Which operators of a package make a model slower, though each kernel has won alone.

A model is timed in its own arithmetic, on its own shapes in memory, and a call of an operator asks a guard first: a
kernel that beat PyTorch's exact products, say, can lose to PyTorch's TF32.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from kernelgauge.timing.ratio import paired

PAIRS = 9
"""Fewer cannot tell at this confidence."""
_CONFIDENCE = 0.99
"""Several operators are asked: one in twenty would go by chance."""

Turns = Callable[[Collection[str], Collection[str]], tuple[Sequence[float], Sequence[float]]]
"""Times of a model without these operators and without those, in turns."""


class Gain(NamedTuple):
    """How many times faster a model is with an operator, with its interval of 99 %."""

    estimate: float
    low: float
    high: float

    def __str__(self) -> str:
        interval = f"{_CONFIDENCE:.0%} between {self.low:.3f} and {self.high:.3f}"
        return f"{self.estimate:.3f} times as fast with it ({interval})"


def hindering(operators: Collection[str], in_turns: Turns, one_by_one: bool = True) -> dict[str, Gain]:
    """The operators without which the model is surely faster, the worst first.

    One goes at a time, and the others are measured again without it. If the rest still makes the model slower, as
    several can of which none does so surely, all of them hinder.

    Args:
        one_by_one: else all of them hinder or none does, which takes one measurement.
    """
    found: dict[str, Gain] = {}
    while one_by_one and (left := _left(operators, found)):
        gains = {each: _gain(in_turns, {*found, each}, set(found)) for each in left}
        worst = min(left, key=lambda each: gains[each].high)
        if gains[worst].high >= 1:
            break
        found[worst] = gains[worst]
    if left := _left(operators, found):
        whole = _gain(in_turns, set(operators), set(found))
        if whole.high < 1:
            found |= dict.fromkeys(left, whole)
    return found


def measurements(operators: int) -> int:
    """How many `hindering` makes at most for so many operators."""
    return operators * (operators + 1) // 2 + 1


def _left(operators: Collection[str], found: Collection[str]) -> list[str]:
    return [each for each in operators if each not in found]


def _gain(in_turns: Turns, without: Collection[str], kept: Collection[str]) -> Gain:
    ratio = paired(*in_turns(without, kept), _CONFIDENCE)
    return Gain(ratio.estimate, ratio.low, ratio.high)

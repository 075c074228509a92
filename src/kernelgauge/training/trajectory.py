"""Returns: what each turn of a trajectory is credited with, from what it and the later turns have earned."""

from __future__ import annotations

from collections.abc import Sequence

from kernelgauge.training.reward import Turns


def returns(rewards: Sequence[float | None], turns: Turns) -> tuple[float | None, ...]:
    """The return R_t of every turn, from the rewards S_t of all turns so far.

    `sum`: R_t = sum over i >= t of discount^(i-t) S_i, and `max` the largest of these terms (Kevin, arXiv
    2507.11948). `last`: R_t is the reward of the last turn. `each`: R_t = S_t.

    A turn without a verdict has no return, so that it is masked; in those before it, its term is left out.

    Args:
        rewards: None for a turn without a verdict.
    """
    return tuple(None if own is None else _return(rewards[turn:], turns) for turn, own in enumerate(rewards))


def _return(rewards: Sequence[float | None], turns: Turns) -> float | None:
    """Of the first of these turns, which has a verdict."""
    if turns.combine == "each":
        return rewards[0]
    if turns.combine == "last":
        return rewards[-1]
    terms = [turns.discount**later * earned for later, earned in enumerate(rewards) if earned is not None]
    return sum(terms) if turns.combine == "sum" else max(terms)

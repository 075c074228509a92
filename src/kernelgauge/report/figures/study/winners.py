"""What winners have in common: means that faster candidates use more often than others that are right as well.

What a candidate uses is told by its text (`checks.source.traits`), and by its profile where the run's folder has one.
This is a description of the candidates that there are, no proof of a cause: whoever uses tensor cores is good at
other things too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from kernelgauge.checks.source.traits import Traits, operators, traits
from kernelgauge.report.figures.estimators import wilson
from kernelgauge.schema import Evaluation, Profile, Record

Evidence = Literal["text", "profile", "text and profile"]


@dataclass(frozen=True)
class Right:
    """A candidate that passed and was timed, with all that is known of its means."""

    evaluation: Evaluation
    traits: Traits
    operators: int | None
    """Of its reference, by its text; None where that is not at hand."""
    profile: Profile | None = None
    reference_profile: Profile | None = None

    @property
    def won(self) -> bool:
        return self.evaluation.standing == "faster"

    @property
    def fuses(self) -> bool | None:
        """Whether it takes fewer steps than the reference has operators; None where there is one, or nobody knows.

        By the profiles the kernels that one forward launches; else by the texts the kernels and library calls that
        the candidate names, against the operators of the reference.
        """
        if self.profile and self.reference_profile and self.reference_profile.launches > 1:
            return self.profile.launches < self.reference_profile.launches
        if self.operators is None or self.operators < 2 or not self.traits.readable or not self.traits.kernels:
            return None if self.operators is None or self.operators < 2 else False
        return self.traits.kernels + self.traits.library_calls < self.operators

    @property
    def tensor_cores(self) -> bool:
        """By hardware counters where there are some, else by its text."""
        counted = (
            [c.tensor_percent for c in self.profile.counters if c.tensor_percent is not None] if self.profile else []
        )
        return max(counted) > 0 if counted else self.traits.tensor_cores > 0


MEANS: dict[str, tuple[str, Callable[[Right], bool | None]]] = {
    "own kernel": ("defines a kernel of its own", lambda it: it.traits.kernels > 0),
    "fusion": ("takes fewer steps than the reference has operators", lambda it: it.fuses),
    "one kernel": ("defines exactly one kernel and calls no library", lambda it: _alone(it.traits)),
    "library calls": ("leaves work to PyTorch or a vendor's library", lambda it: it.traits.library_calls > 0),
    "shared memory": ("names shared memory", lambda it: it.traits.shared_memory > 0),
    "tensor cores": ("names a product for tensor cores, or was seen to use them", lambda it: it.tensor_cores),
    "wide loads": ("loads several elements at once by name", lambda it: it.traits.wide_loads > 0),
    "warp shuffles": ("exchanges values within a warp", lambda it: it.traits.warp_shuffles > 0),
    "atomics": ("adds by atomic operations", lambda it: it.traits.atomics > 0),
    "autotuning": ("tries several configurations", lambda it: it.traits.autotuning > 0),
    "graphs": ("replays a graph of launches", lambda it: it.traits.graphs > 0),
}
"""By name: what it means that a candidate has it, and how that is told; None where it cannot be."""


class Mean(Record):
    """One means, among winners and among the others that are right."""

    name: str
    about: str
    winners: int
    """Faster candidates of which it can be told."""
    winners_with: int
    others: int
    """Ties, slower and unclear ones."""
    others_with: int
    difference: float | None
    """Share among winners less that among others; None if one of both has nobody."""
    interval: tuple[float, float] | None
    """95 %, by Newcombe's hybrid score."""
    speedup_with: float | None
    """Median of all right candidates that have it."""
    speedup_without: float | None
    evidence: Evidence


class Winners(Record):
    """All right candidates that count."""

    winners: int
    others: int
    profiled: int
    """Of both, with a profile in their run's folder."""
    means: tuple[Mean, ...]
    """Those that some candidate has, the largest difference first."""


def right(
    evaluation: Evaluation,
    source: str,
    reference: str | None,
    profile: Profile | None = None,
    reference_profile: Profile | None = None,
) -> Right:
    """What is known of one candidate."""
    counted = operators(reference) if reference is not None else None
    return Right(evaluation, traits(source), counted, profile, reference_profile)


def winners(found: Sequence[Right]) -> Winners | None:
    """What faster candidates have in common; None without a right candidate."""
    if not found:
        return None
    means = [_mean(name, about, told, found) for name, (about, told) in MEANS.items()]
    return Winners(
        winners=sum(each.won for each in found),
        others=sum(not each.won for each in found),
        profiled=sum(each.profile is not None for each in found),
        means=tuple(
            sorted(
                (mean for mean in means if mean.winners_with or mean.others_with),
                key=lambda mean: -(mean.difference if mean.difference is not None else -2.0),
            )
        ),
    )


def difference(with_a: int, a: int, with_b: int, b: int) -> tuple[float, tuple[float, float]]:
    """Difference of two independent shares with its 95 % interval.

    R. G. Newcombe, Interval estimation for the difference between independent proportions, Statistics in Medicine 17,
    1998, method 10: the ends of both Wilson intervals, added as squares.
    """
    one, other = with_a / a, with_b / b
    (low_a, high_a), (low_b, high_b) = wilson(with_a, a), wilson(with_b, b)
    down = math.hypot(one - low_a, high_b - other)
    up = math.hypot(high_a - one, other - low_b)
    return one - other, (one - other - down, one - other + up)


def _alone(found: Traits) -> bool:
    return found.kernels == 1 and found.library_calls == 0


def _mean(name: str, about: str, told: Callable[[Right], bool | None], found: Sequence[Right]) -> Mean:
    known = [(each, has) for each in found if (has := told(each)) is not None]
    won = [has for each, has in known if each.won]
    lost = [has for each, has in known if not each.won]
    both = difference(sum(won), len(won), sum(lost), len(lost)) if won and lost else None
    return Mean(
        name=name,
        about=about,
        winners=len(won),
        winners_with=sum(won),
        others=len(lost),
        others_with=sum(lost),
        difference=both[0] if both else None,
        interval=both[1] if both else None,
        speedup_with=_median([each for each, has in known if has]),
        speedup_without=_median([each for each, has in known if not has]),
        evidence=_evidence(name, [each for each, _ in known]),
    )


def _evidence(name: str, known: Sequence[Right]) -> Evidence:
    if name not in ("fusion", "tensor cores"):
        return "text"
    by_profile = sum(each.profile is not None for each in known)
    return "text" if not by_profile else "profile" if by_profile == len(known) else "text and profile"


def _median(found: Sequence[Right]) -> float | None:
    speeds = [each.evaluation.speedup for each in found if each.evaluation.speedup is not None]
    return median(speeds) if speeds else None

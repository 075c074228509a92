"""The kernels for one problem in their order, and how the best came about: pure functions of entries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from kernelgauge.leaderboard.entries import Contestant, Entry
from kernelgauge.schema import Timing

TOP = 5
"""Kernels of a problem that are shown with their code."""


@dataclass(frozen=True)
class Kernel:
    """One text among the right answers to a problem, with its last record."""

    place: int
    entry: Entry
    first: Contestant
    """Who handed in this text before anybody else."""
    created: datetime
    """When that was judged."""
    others: tuple[str, ...]
    """Who else handed in the same text."""
    level_with_best: bool
    """Whether its interval reaches the best one's estimate: it may be just as fast."""

    @property
    def timing(self) -> Timing:
        timing = self.entry.evaluation.timing
        assert timing is not None
        return timing


@dataclass(frozen=True)
class Lead:
    """A record that was the best of its problem when it was made."""

    entry: Entry
    before: float | None
    """The best speedup until then."""


def by_date(entries: Iterable[Entry]) -> list[Entry]:
    """Oldest first."""
    return sorted(entries, key=lambda entry: entry.evaluation.created)


def ranked(entries: Iterable[Entry]) -> list[Kernel]:
    """The correct and timed answers to one problem in one setting, the best first.

    The order is that of the lower ends of the speedup's intervals: what a kernel is faster than for certain. Each
    text stands once, with its last record, so that judging it often does not help, for whoever had it first.
    """
    texts: dict[str, list[Entry]] = {}
    for entry in by_date(entries):
        texts.setdefault(entry.evaluation.candidate_digest, []).append(entry)
    timed = [same for same in texts.values() if same[-1].evaluation.timing is not None]
    timed.sort(key=lambda same: certain(same[-1]), reverse=True)
    best = timed[0][-1].evaluation.speedup if timed else None
    return [_kernel(place, same, best or 0.0) for place, same in enumerate(timed, start=1)]


def certain(entry: Entry) -> tuple[float, float]:
    """What entries are compared by: the lower end of the interval, then the estimate; failures last."""
    timing = entry.evaluation.timing
    return (timing.interval[0], timing.speedup) if timing else (0.0, 1.0 if entry.evaluation.passed else 0.0)


def leads(entries: Iterable[Entry]) -> list[Lead]:
    """The records that were better than all before them, oldest first."""
    found: list[Lead] = []
    best: Entry | None = None
    for entry in by_date(entries):
        if entry.evaluation.timing is None or (best is not None and certain(entry) <= certain(best)):
            continue
        found.append(Lead(entry, best.evaluation.speedup if best else None))
        best = entry
    return found


def _kernel(place: int, same: Sequence[Entry], best: float) -> Kernel:
    """`same` are the records of one text, oldest first."""
    first, last = same[0], same[-1]
    names = dict.fromkeys(entry.contestant.name for entry in same)
    names.pop(first.contestant.name)
    timing = last.evaluation.timing
    assert timing is not None
    level = timing.interval[1] >= best
    return Kernel(place, last, first.contestant, first.evaluation.created, tuple(names), level)

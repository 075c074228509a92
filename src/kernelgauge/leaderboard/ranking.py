"""The kernels for one problem in their order, and how the best came about: pure functions of entries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from kernelgauge.leaderboard.entries import Contestant, Entry
from kernelgauge.schema import Timing, tells

TOP = 5
"""Kernels of a problem that are shown with their code."""


@dataclass(frozen=True)
class Kernel:
    """One kernel among the right answers to a problem, with the record that it stands by."""

    place: int
    entry: Entry
    first: Contestant
    """Who had this kernel before anybody else."""
    created: datetime
    """When that was judged."""
    others: tuple[str, ...]
    """Who else had the same one."""
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
    kernel stands once, by `standing_record`, for whoever had it first.
    """
    timed = [(standing_record(same), same) for same in kernels(entries)]
    timed = [(entry, same) for entry, same in timed if entry.evaluation.timing is not None]
    timed.sort(key=lambda each: certain(each[0]), reverse=True)
    best = timed[0][0].evaluation.speedup if timed else None
    return [_kernel(place, entry, same, best or 0.0) for place, (entry, same) in enumerate(timed, start=1)]


def kernels(entries: Iterable[Entry]) -> list[list[Entry]]:
    """The records of each kernel, oldest first."""
    found: dict[str, list[Entry]] = {}
    for entry in by_date(entries):
        found.setdefault(entry.kernel, []).append(entry)
    return list(found.values())


def standing_record(same: Sequence[Entry]) -> Entry:
    """The record that a kernel stands by, of all it has, oldest first.

    The last of run folders. Of what was handed in one by one the first with a time: whoever sees verdicts before
    handing in the next copy would go on until luck helps.
    """
    runs = [entry for entry in same if not entry.submitted]
    return runs[-1] if runs else next((entry for entry in same if entry.evaluation.timing is not None), same[-1])


def certain(entry: Entry) -> tuple[float, float]:
    """What entries are compared by: the lower end of the interval, then the estimate; failures last.

    An interval too wide to tell says no more than that it is right.
    """
    timing = entry.evaluation.timing
    if timing and tells(timing.interval):
        return timing.interval[0], timing.speedup
    return 0.0, 1.0 if entry.evaluation.passed else 0.0


def leads(entries: Iterable[Entry]) -> list[Lead]:
    """The records that were better than all before them, oldest first; another's kernel takes no lead."""
    entries = list(entries)
    first = {same[0].kernel: same[0].contestant for same in kernels(entries)}
    stands = {id(standing_record(same)) for same in kernels(e for e in entries if e.submitted)}
    found: list[Lead] = []
    best: Entry | None = None
    for entry in by_date(entries):
        if entry.contestant != first[entry.kernel] or (entry.submitted and id(entry) not in stands):
            continue
        timing = entry.evaluation.timing
        if timing is None or not tells(timing.interval) or (best is not None and certain(entry) <= certain(best)):
            continue
        found.append(Lead(entry, best.evaluation.speedup if best else None))
        best = entry
    return found


def _kernel(place: int, entry: Entry, same: Sequence[Entry], best: float) -> Kernel:
    """`same` are the records of one kernel, oldest first."""
    first = same[0]
    names = dict.fromkeys(each.contestant.name for each in same)
    names.pop(first.contestant.name)
    timing = entry.evaluation.timing
    assert timing is not None
    level = timing.interval[1] >= best
    return Kernel(place, entry, first.contestant, first.evaluation.created, tuple(names), level)

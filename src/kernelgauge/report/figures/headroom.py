"""What is left to gain on each problem of one machine: its bound, PyTorch's strongest mode, the best kernel known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median
from typing import Annotated, cast

from pydantic import Field

from kernelgauge.checks.bound import bound
from kernelgauge.config import MathMode
from kernelgauge.errors import UsageError
from kernelgauge.report.figures.answers import natural
from kernelgauge.report.figures.hardware import where
from kernelgauge.schema import MODES, Evaluation, Mode, Peaks, Record

PYTORCH = "pytorch"
"""Contestant of the records that `kernelgauge baseline` leaves, whose samples are PyTorch's modes."""
WORTH = 1.05
"""A gain below this is no win that anybody would notice."""
Milliseconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Headroom(Record):
    """One problem on one machine, in milliseconds of one call."""

    problem: str
    name: str
    bound_ms: Milliseconds
    """The longest of those in the records."""
    bound_by: str
    """`memory` or `arithmetic`."""
    eager_ms: Milliseconds
    """Median over the records of the problem."""
    strongest: Mode
    """PyTorch's fastest mode; eager where no other was measured."""
    strongest_ms: Milliseconds
    best_by: str
    """The contestant of the fastest kernel whose whole interval is above 1; PyTorch's mode where none is faster."""
    best_ms: Milliseconds
    scored: bool
    """Whether the problem counts under the protocol."""

    @property
    def left(self) -> float:
        """How many times faster than the best known a kernel could be at most; below 1 where it beats the bound."""
        return self.best_ms / self.bound_ms

    @property
    def to_win(self) -> float:
        """How many times faster than PyTorch's strongest mode a kernel could be at most."""
        return self.strongest_ms / self.bound_ms

    @property
    def winnable(self) -> bool:
        """Whether anybody could beat PyTorch's strongest mode by more than 5 %, as far as the bound tells."""
        return self.to_win > WORTH or self.best_ms * WORTH < self.strongest_ms


def headrooms(records: Iterable[Evaluation], peaks: Peaks | None = None) -> list[Headroom]:
    """Each problem that has a bound in records of one machine, in the suite's order.

    Args:
        peaks: of that machine; the bounds are by these, whatever was known of it when the candidates were judged.

    Raises:
        UsageError: the records are of several machines, protocols, sizes or kinds of arithmetic, or the peaks of
            another one.
    """
    timed = [each for each in records if each.passed and each.timing and each.bound]
    if peaks:
        timed = [bounded for each in timed if (bounded := _bounded_by(each, peaks)).bound]
    settings = {(where(e), e.protocol, e.sizes, e.math) for e in timed}
    if len(settings) > 1:
        told = "; ".join(sorted(", ".join(map(str, each)) for each in settings))
        raise UsageError(f"headroom is of one machine, protocol, sizes and arithmetic, and these runs are of: {told}")
    of: dict[str, list[Evaluation]] = {}
    for each in timed:
        of.setdefault(each.problem, []).append(each)
    return [_headroom(of[problem]) for problem in sorted(of, key=natural)]


def _bounded_by(record: Evaluation, peaks: Peaks) -> Evaluation:
    """The record with the bound that these peaks give the work counted in it; as it is if it names no arithmetic."""
    if where(record) != peaks.name:
        raise UsageError(f"the peaks are of {peaks.name}, and {record.problem} was measured on {where(record)}")
    if record.bound is None or record.timing is None or record.math is None:
        return record
    found = bound(record.bound.work, peaks, cast(MathMode, record.math), record.timing)
    return record.model_copy(update={"bound": found})


def _headroom(records: Sequence[Evaluation]) -> Headroom:
    """Of one problem. Speeds are compared as speedups over eager, which each record measured beside its own."""
    newest = max(records, key=lambda record: record.created)
    # Each is a bound, and the longest says most: those by measured peaks are longer than those by the data sheet's.
    bound = max((record.bound for record in records if record.bound), key=lambda bound: bound.bound_ms)
    modes = _modes(records)
    strongest = max(modes, key=lambda mode: modes[mode])
    best_by, best = f"PyTorch, {strongest}", modes[strongest]
    for record in records:
        if record.contestant != PYTORCH and record.standing == "faster" and (record.speedup or 0) > best:
            best_by, best = record.contestant, record.speedup or best
    eager = median(record.timing.reference_ms for record in records if record.timing)
    return Headroom(
        problem=newest.problem,
        name=newest.problem_name,
        bound_ms=bound.bound_ms,
        bound_by=bound.binding,
        eager_ms=eager,
        strongest=strongest,
        strongest_ms=eager / modes[strongest],
        best_by=best_by,
        best_ms=eager / best,
        scored=all(record.scored for record in records),
    )


def _modes(records: Sequence[Evaluation]) -> dict[Mode, float]:
    """Speedup over eager of each of PyTorch's modes that was measured, the newest figure of each."""
    found: dict[Mode, float] = {"eager": 1.0}
    for record in sorted(records, key=lambda record: record.created):
        if record.contestant == PYTORCH and MODES[record.sample] != "eager":
            found[MODES[record.sample]] = record.speedup or 1.0
        for each in record.baseline_speedups:
            if each.mode != "eager":
                found[each.mode] = (record.speedup or 1.0) / each.speedup
    return found

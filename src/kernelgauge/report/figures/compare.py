"""Two or more runs side by side: problem by problem with intervals, and paired tests over problems."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from statistics import fmean
from typing import Literal

from scipy.stats import binomtest, wilcoxon

from kernelgauge.errors import UsageError
from kernelgauge.report.figures.answers import Answers, by_interval, counting, gather
from kernelgauge.report.figures.estimators import matched_difference
from kernelgauge.report.figures.hardware import Kept, across, machine
from kernelgauge.report.figures.refusals import Refused, refused
from kernelgauge.report.figures.shortcomings import shortcomings
from kernelgauge.report.table import Records
from kernelgauge.schema import Record, tells
from kernelgauge.timing.baselines import quotient
from kernelgauge.timing.ratio import Ratio, paired

PairStanding = Literal["faster", "slower", "same", "unclear", "gained", "lost", "untimed", "neither"]
"""What the later run does on a problem that both were judged on: `gained` and `lost` say that only one has a right
candidate; `untimed`, that both have one and at least one was not timed."""

PAIR_STANDINGS: tuple[PairStanding, ...] = (
    "faster",
    "slower",
    "same",
    "unclear",
    "gained",
    "lost",
    "untimed",
    "neither",
)

SAME = 0.05
"""Two candidates are the same where the whole interval of their ratio lies this near to 1, and holds it."""

CONDITIONS = ("protocol", "protocol_digest", "math", "kernel_policy", "sizes")
"""Header fields that must agree; figures under different ones say nothing about each other."""

_CONFIDENCE = 0.95


class Side(Record):
    """One of the runs."""

    label: str
    contestant: str
    machine: str
    problems: int
    """Judged, and counting under the protocol."""
    refused: Refused
    """Of their candidates."""


class Row(Record):
    """One problem in two runs."""

    problem: str
    name: str
    verdict: PairStanding
    speedups: tuple[float | None, float | None]
    """Over the reference: in the first run, in the later one."""
    ratio: float | None
    """Speedup in the later run over that in the first: above 1 is faster."""
    interval: tuple[float, float] | None


class Shares(Record):
    """fast_p of two runs over the problems that both were judged on."""

    p: float
    shares: tuple[float, float]
    difference: float
    interval: tuple[float, float]
    """95 % interval of the difference, for matched pairs."""
    better: int
    """Problems on which the later run does better."""
    worse: int
    p_value: float
    """Sign test over those problems."""


class Versus(Record):
    """A later run against the first."""

    label: str
    rows: tuple[Row, ...]
    counts: dict[PairStanding, int]
    timed: int
    """Problems with a time in both runs."""
    typical: float | None
    """Hodges-Lehmann estimate over those problems of the ratio of speedups; None for fewer than two."""
    typical_interval: tuple[float, float] | None
    p_value: float | None
    """Wilcoxon's signed-rank test over those problems."""
    shares: tuple[Shares, ...]
    """For p = 0 and p = 1."""
    others: tuple[str, ...]
    """Problems that only one of both runs has judged, or whose text differs; they are in no figure here."""


class Comparison(Record):
    """Everything that `kernelgauge compare --json` prints."""

    sides: tuple[Side, ...]
    versus: tuple[Versus, ...]
    hardware: Kept | None
    """Which kernels keep their win on other machines; None where all runs come from one."""
    warnings: tuple[str, ...]


def compare(runs: Sequence[Records], best: bool = False, mix: bool = False) -> Comparison:
    """The later runs against the first one.

    Args:
        best: of several samples of a problem take the fastest one; otherwise their geometric mean.
        mix: compare runs of different protocols or sizes all the same, and warn.

    Raises:
        UsageError: fewer than two runs, or runs that were judged under different conditions.
    """
    if len(runs) < 2:
        raise UsageError("a comparison needs two runs at least")
    labels = _labels(runs)
    warnings = [f"{label}: {lack}" for label, run in zip(labels, runs, strict=True) for lack in shortcomings(run)]
    for label, run in zip(labels[1:], runs[1:], strict=True):
        if found := differences(runs[0], run):
            what = f"{labels[0]} and {label} differ in {' and '.join(found)}"
            if not mix:
                raise UsageError(
                    f"{what}: such figures say nothing about each other; --mix compares them all the same"
                )
            warnings.append(f"{what}: the figures below mix them")
    gathered = [counting(gather(run.evaluations(), run.skips())) for run in runs]
    machines = [machine(run.evaluations()) for run in runs]
    if len({where for where, run in zip(machines, runs, strict=True) if run.evaluations()}) > 1:
        warnings.append("speedups are over the reference on the same machine, and the machines differ")
    sides = (
        Side(
            label=label,
            contestant=run.header.contestant,
            machine=where,
            problems=len(answers),
            refused=refused(answers),
        )
        for label, run, where, answers in zip(labels, runs, machines, gathered, strict=True)
    )
    later = zip(labels[1:], runs[1:], gathered[1:], strict=True)
    return Comparison(
        sides=tuple(sides),
        versus=tuple(
            _versus(label, gathered[0], answers, best, other_sizes=run.header.sizes != runs[0].header.sizes)
            for label, run, answers in later
        ),
        hardware=across([run.evaluations() for run in runs]),
        warnings=tuple(warnings),
    )


def _labels(runs: Sequence[Records]) -> list[str]:
    """The folders' names, or their whole paths where names are not enough to tell them apart."""
    names = [run.path.name for run in runs]
    return names if len(set(names)) == len(names) else [str(run.path) for run in runs]


def differences(first: Records, later: Records) -> list[str]:
    """Under which other conditions the later run was judged, with both values; empty where they are the same."""
    found: list[str] = []
    for field in CONDITIONS:
        ours, theirs = getattr(first.header, field), getattr(later.header, field)
        if ours != theirs and not (field == "protocol_digest" and found):
            found.append(f"{field} ({ours} and {theirs})")
    return found


def _versus(
    label: str, first: Sequence[Answers], later: Sequence[Answers], best: bool, other_sizes: bool = False
) -> Versus:
    """With `other_sizes` no problem has the same text in both: its name has to do."""
    theirs = {answers.problem: answers for answers in later}
    both = [(a, theirs[a.problem]) for a in first if a.problem in theirs]
    both = [(a, b) for a, b in both if other_sizes or _same_text(a, b)]
    shared = {a.problem for a, _ in both}
    rows = tuple(_row(a, b, best) for a, b in both)
    timed = [row.speedups for row in rows if row.ratio is not None]
    typical = paired([b for _, b in timed], [a for a, _ in timed], _CONFIDENCE) if len(timed) > 1 else None  # type: ignore[misc]
    counts = Counter(row.verdict for row in rows)
    return Versus(
        label=label,
        rows=rows,
        counts={verdict: counts[verdict] for verdict in PAIR_STANDINGS},
        timed=len(timed),
        typical=typical.estimate if typical else None,
        typical_interval=(typical.low, typical.high) if typical else None,
        p_value=_signed_rank([math.log(row.ratio) for row in rows if row.ratio is not None]),
        shares=tuple(shares_of(both, p) for p in (0.0, 1.0)) if both else (),
        others=tuple(a.problem for a in (*first, *later) if a.problem not in shared),
    )


def _same_text(a: Answers, b: Answers) -> bool:
    texts = {e.problem_digest for answers in (a, b) for e in answers.evaluations}
    return len(texts) <= 1


def _row(a: Answers, b: Answers, best: bool) -> Row:
    ours, theirs = figure(a, best), figure(b, best)
    ratio = quotient(theirs, ours) if ours and theirs else None
    named = next((e.problem_name for answers in (a, b) for e in answers.evaluations), "")
    return Row(
        problem=a.problem,
        name=named,
        verdict=_verdict(a.successes(0, by_interval) > 0, b.successes(0, by_interval) > 0, ratio),
        speedups=(ours.estimate if ours else None, theirs.estimate if theirs else None),
        ratio=ratio.estimate if ratio else None,
        interval=(ratio.low, ratio.high) if ratio else None,
    )


def _verdict(before: bool, after: bool, ratio: Ratio | None) -> PairStanding:
    if not before or not after:
        return "lost" if before else "gained" if after else "neither"
    if ratio is None:
        return "untimed"
    if not tells((ratio.low, ratio.high)):
        return "unclear"
    if ratio.low > 1 or ratio.high < 1:
        return "faster" if ratio.low > 1 else "slower"
    return "same" if ratio.low > 1 / (1 + SAME) and ratio.high < 1 + SAME else "unclear"


def figure(answers: Answers, best: bool) -> Ratio | None:
    """The speedup of a problem's right candidates; None where none was timed.

    Of several samples the one whose interval ends highest at its lower end, or their geometric mean: the errors of
    independent samples add in quadrature, and so do the half widths of their intervals on a log scale.
    """
    found = [Ratio(e.timing.speedup, *e.timing.interval) for e in answers.evaluations if e.timing]
    if not found:
        return None
    if best:
        return max(found, key=lambda ratio: (tells((ratio.low, ratio.high)), ratio.low))
    centre = fmean(math.log(ratio.estimate) for ratio in found)
    below = math.hypot(*(math.log(ratio.estimate / ratio.low) for ratio in found)) / len(found)
    above = math.hypot(*(math.log(ratio.high / ratio.estimate) for ratio in found)) / len(found)
    return Ratio(math.exp(centre), math.exp(centre - below), math.exp(centre + above))


def _signed_rank(logs: Sequence[float]) -> float | None:
    """Two-sided p-value; None for no pairs. Pairs that do not differ at all are left out, as Wilcoxon did."""
    if not logs:
        return None
    return float(wilcoxon(logs).pvalue) if any(logs) else 1.0


def shares_of(both: Sequence[tuple[Answers, Answers]], p: float) -> Shares:
    """fast_p of both sides of these pairs, and of what they differ by."""
    pairs = [(a.share(p, by_interval), b.share(p, by_interval)) for a, b in both]
    gains = [b - a for a, b in pairs]
    better, worse = sum(gain > 0 for gain in gains), sum(gain < 0 for gain in gains)
    return Shares(
        p=p,
        shares=(fmean(a for a, _ in pairs), fmean(b for _, b in pairs)),
        difference=fmean(gains),
        interval=matched_difference(gains),
        better=better,
        worse=worse,
        p_value=float(binomtest(better, better + worse).pvalue) if better + worse else 1.0,
    )

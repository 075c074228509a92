"""Our verdicts beside those that others gave: where they differ, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from kernelgauge.generation.foreign import Foreign
from kernelgauge.report.table import Records
from kernelgauge.schema import Elsewhere, Evaluation, Label, Record, Standing

Agreement = Literal["both_right", "both_wrong", "refused_here", "accepted_here", "speed_apart", "not_judged"]
"""`refused_here`: they held it for right and we do not. `accepted_here`: the other way round. `speed_apart`: both do,
and say that it is fast in different measure."""

AGREEMENTS: tuple[Agreement, ...] = (
    "both_right",
    "both_wrong",
    "refused_here",
    "accepted_here",
    "speed_apart",
    "not_judged",
)
ALIKE: tuple[Agreement, ...] = ("both_right", "both_wrong")


class Beside(Record):
    """One candidate under one protocol."""

    file: str
    problem: str
    sample: int
    agreement: Agreement
    elsewhere: Elsewhere
    outcome: str | None
    """Ours; None where it was not judged."""
    rule: str | None
    reason: str
    """Of our verdict, or why there is none."""
    speedup: float | None
    speedup_interval: tuple[float, float] | None
    standing: Standing | None

    @property
    def differs(self) -> bool:
        return self.agreement not in ALIKE


class Replayed(Record):
    """All candidates under one protocol."""

    protocol: str
    folder: str
    """The run's."""
    device: str
    sizes: str
    counts: dict[Agreement, int]
    by_label: dict[Label, dict[Agreement, int]]
    rows: tuple[Beside, ...]

    @property
    def differing(self) -> list[Beside]:
        return [row for row in self.rows if row.differs]


def replayed(
    run: Records,
    candidates: Mapping[tuple[str, int], Foreign],
    apart: float,
    why_not: Mapping[tuple[str, int], str] | None = None,
) -> Replayed:
    """What a run says of these candidates, by problem and sample, beside what was said elsewhere.

    Args:
        apart: speedups that differ by more than this factor are apart, unless our interval holds theirs.
        why_not: why some were not judged in this session.
    """
    records = {(e.problem, e.sample): e for e in run.evaluations()}
    too_large = {each.problem: each.reason for each in run.too_large()}
    rows = []
    for (problem, sample), each in candidates.items():
        record = records.get((problem, sample))
        if record is not None and record.candidate_digest != each.digest:
            record = None
        why = (why_not or {}).get((problem, sample)) or too_large.get(problem, "it has no verdict yet")
        rows.append(_beside(each, sample, record, apart, why))
    return Replayed(
        protocol=run.header.protocol,
        folder=str(run.path),
        device=run.header.device,
        sizes=run.header.sizes,
        counts=_counts(rows),
        by_label={label: _counts([r for r in rows if r.elsewhere.label == label]) for label in _labels(rows)},
        rows=tuple(rows),
    )


def _beside(each: Foreign, sample: int, record: Evaluation | None, apart: float, why: str) -> Beside:
    return Beside(
        file=each.file,
        problem=each.problem,
        sample=sample,
        agreement=_agreement(each.said, record, apart),
        elsewhere=each.said,
        outcome=record.outcome.value if record else None,
        rule=record.rule if record else None,
        reason=record.reason if record else why,
        speedup=record.speedup if record else None,
        speedup_interval=record.speedup_interval if record else None,
        standing=record.standing if record else None,
    )


def _agreement(said: Elsewhere, record: Evaluation | None, apart: float) -> Agreement:
    if record is None:
        return "not_judged"
    if said.correct != record.passed:
        return "refused_here" if said.correct else "accepted_here"
    if not record.passed:
        return "both_wrong"
    return "speed_apart" if _apart(said.speedup, record, apart) else "both_right"


def _apart(theirs: float | None, record: Evaluation, apart: float) -> bool:
    if theirs is None or record.timing is None or record.standing == "unclear":
        return False
    low, high = record.timing.interval
    ratio = record.timing.speedup / theirs
    return max(ratio, 1 / ratio) > apart and not low <= theirs <= high


def _counts(rows: Iterable[Beside]) -> dict[Agreement, int]:
    found = Counter(row.agreement for row in rows)
    return {agreement: found[agreement] for agreement in AGREEMENTS}


def _labels(rows: Sequence[Beside]) -> list[Label]:
    return sorted({row.elsewhere.label for row in rows}, key=("honest", "cheat", "unknown").index)

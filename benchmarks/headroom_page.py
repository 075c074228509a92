"""What is left to gain on each problem of a machine: the JSON that is committed, and the page that shows it.

Figures are those of `kernelgauge problems list --headroom`. Times are milliseconds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from page_blocks import Block, Paragraph, Table

from kernelgauge.errors import StoreError
from kernelgauge.hardware.peaks import read
from kernelgauge.problems.catalogue import select
from kernelgauge.report.figures.headroom import WORTH, headrooms
from kernelgauge.report.runs import ComparedRun
from kernelgauge.runs import load
from kernelgauge.schema import Baseline

STEPS = (WORTH, 1.1, 1.25, 2.0)
"""Gains over PyTorch's fastest mode, at most, that problems are counted by."""


def headroom(
    sources: Sequence[Path], peaks: Path | None = None, baselines: Sequence[Baseline] = ()
) -> dict[str, Any]:
    """Rows of all problems that have a bound in these runs of one machine.

    Args:
        baselines: what the records are compared with, so that PyTorch's modes are known without a run of them.
        peaks: a file of `kernelgauge doctor --measure --json`; the bounds are by these.

    Raises:
        StoreError: a folder is no run, or nothing in them has a bound.
        UsageError: the runs are of several machines or settings, or the peaks are unreadable or of another machine.
    """
    runs = [ComparedRun(load(each), baselines) for each in sources]
    records = [record for run in runs for record in run.latest()]
    measured = read(peaks) if peaks else None
    found = headrooms(records, measured)
    if not found:
        raise StoreError(
            f"no record in {', '.join(map(str, sources))} has a bound: `kernelgauge doctor --measure` first"
        )
    newest = max(records, key=lambda record: record.created)
    rows = [
        each.model_dump(mode="json") | {"left": each.left, "to_win": each.to_win, "winnable": each.winnable}
        for each in found
    ]
    return {
        "kind": "headroom",
        "commands": [run.header.command for run in runs],
        "protocol": newest.protocol,
        "environment": newest.environment.model_dump(mode="json"),
        "date": newest.created.isoformat(timespec="seconds"),
        "figures": {
            "peaks": [measured.label] if measured else sorted({each.bound.peaks for each in records if each.bound}),
            "held": dict(Counter(row["best_by"] for row in rows).most_common()),
            "to_win": {f"{step:g}": sum(row["to_win"] <= step for row in rows) for step in STEPS},
            "hopeless": [row["problem"] for row in rows if not row["winnable"]],
            "missing": [key for key in select((1, 2, 3)) if key not in {row["problem"] for row in rows}],
        },
        "rows": rows,
    }


def blocks(content: dict[str, Any], folded: str = "") -> Iterator[Block]:
    """How much is left, who holds how many problems, and a table of all; `folded`: what stands on its fold."""
    figures, rows = content["figures"], content["rows"]
    counts = ", ".join(
        f"{100 * (float(step) - 1):.0f} % on {count}" for step, count in figures["to_win"].items() if count
    )
    hopeless = figures["hopeless"]
    yield Paragraph(
        f"{len(rows)} problems under `{content['protocol']}`; the bound by peaks {' and '.join(figures['peaks'])}. "
        + (
            f"Nobody can win by more than 5 % over PyTorch's fastest mode on {len(hopeless)}: {', '.join(hopeless)}. "
            if hopeless
            else "By the bound there is none on which nobody could win by more than 5 % over PyTorch's fastest mode. "
        )
        + (f"At most so much faster than that mode can a kernel be: {counts}." if counts else "")
    )
    if figures["missing"]:
        missing = ", ".join(figures["missing"])
        yield Paragraph(f"Of levels 1 to 3 {len(figures['missing'])} have no bound in these runs: {missing}.")
    held = ", ".join(f"{name} {count}" for name, count in figures["held"].items())
    yield Paragraph(f"The best known is held by: {held}.")
    yield Table(
        ("problem", "name", "bound ms", "by", "PyTorch ms", "mode", "best ms", "held by", "left", "note"),
        [_row(row) for row in rows],
        frozenset({"name", "by", "mode", "held by", "note"}),
        folded,
    )


def _row(row: dict[str, Any]) -> list[str]:
    notes = [] if row["winnable"] else ["nobody can win by more than 5 %"]
    notes += [] if row["scored"] else ["does not count"]
    times = (f"{row[name]:.3g}" for name in ("bound_ms", "strongest_ms", "best_ms"))
    bound, strongest, best = times
    name = row["name"].replace("_", " ")
    return [
        *(row["problem"], name, bound, row["bound_by"], strongest, row["strongest"], best, row["best_by"]),
        *(f"{row['left']:.2f}x", "; ".join(notes)),
    ]

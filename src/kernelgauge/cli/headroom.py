"""`kernelgauge problems list --headroom`: what is left to gain, and who holds what."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from kernelgauge.report.figures.headroom import Headroom


def print_headroom(runs: Sequence[Path], keys: Sequence[str], peaks: Path | None, as_json: bool) -> None:
    """The problems of those named that have a bound in the runs.

    Args:
        peaks: a file of `doctor --measure --json`; the bounds are by these instead of those in the records.

    Raises:
        StoreError: a folder is no run.
        UsageError: the runs are of several machines or settings, no record of these problems has a bound, or the
            peaks are unreadable or of another machine.
    """
    from kernelgauge.errors import UsageError
    from kernelgauge.hardware.peaks import read
    from kernelgauge.report.figures.headroom import headrooms
    from kernelgauge.runs import load

    records = [record for folder in runs for record in load(folder).evaluations() if record.problem in set(keys)]
    found = headrooms(records, read(peaks) if peaks else None)
    if not found:
        raise UsageError(
            f"no record of these problems in {', '.join(map(str, runs))} has a bound: `kernelgauge doctor "
            "--measure`, then `kernelgauge baseline --out FOLDER` or `run`"
        )
    if as_json:
        typer.echo(json.dumps([_object(each) for each in found]))
        return
    _print(found)


def _object(each: Headroom) -> dict[str, Any]:
    return {**each.model_dump(), "left": each.left, "to_win": each.to_win, "winnable": each.winnable}


def _print(found: Sequence[Headroom]) -> None:
    from rich.table import Table

    from kernelgauge.cli.tables import console

    table = Table(box=None, header_style="bold")
    for column in ("problem", "name", "bound ms", "by", "PyTorch ms", "mode", "best ms", "held by", "left", ""):
        table.add_column(
            column, justify="right" if column in ("bound ms", "PyTorch ms", "best ms", "left") else "left"
        )
    for each in found:
        times = (f"{ms:.3g}" for ms in (each.bound_ms, each.strongest_ms, each.best_ms))
        bound, strongest, best = times
        said = "" if each.winnable else "nobody can win by more than 5 %"
        table.add_row(
            *(each.problem, each.name, bound, each.bound_by, strongest, each.strongest, best, each.best_by),
            *(f"{each.left:.2f}x", said if each.scored else f"does not count; {said}".rstrip("; ")),
        )
    console().print(table)
    winnable = sum(each.winnable for each in found)
    typer.echo(f"{len(found)} problems; {winnable} can be won by more than 5 % over PyTorch's strongest mode")

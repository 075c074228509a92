"""What a problem has to do, and the least time this machine allows for it, on a terminal or as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kernelgauge.checks.bound import least_time
from kernelgauge.cli.tables import console
from kernelgauge.schema import Peaks, Problem, Work

if TYPE_CHECKING:
    from rich.table import Table

    from kernelgauge.config import MathMode

MATHS: tuple[MathMode, ...] = ("ieee", "tf32", "torch")
"""In float32: those of the protocols `strict` and `v0.1`, and what lies between."""


def peaks_here(device: str) -> Peaks | None:
    """What is known of a device of this machine, without torch."""
    from kernelgauge.config import load_settings
    from kernelgauge.hardware.environment import environment
    from kernelgauge.hardware.peaks import known

    settings = load_settings()
    return known(settings.cache, environment(settings.threads), device)


def bound_row(work: Work, peaks: Peaks | None, maths: Sequence[MathMode] = MATHS) -> dict[str, Any]:
    """The bound under each kind of arithmetic as a flat object; nulls where it is not known."""
    row: dict[str, Any] = {"peaks": peaks.label if peaks else None}
    for math in maths:
        least = least_time(work, peaks, math) if peaks else None
        row[f"bound_ms_{math}"] = least.ms if least else None
    return row


def as_json(problem: Problem, work: Work | None, peaks: Peaks | None, maths: Sequence[MathMode]) -> dict[str, Any]:
    """One flat object."""
    row: dict[str, Any] = {"key": problem.key, "name": problem.name, "sizes": problem.sizes}
    if work is None:
        return {**row, "flops": None, "bytes": None, "intensity": None}
    counted = {"bytes": work.bytes, "intensity": work.intensity}
    return {**row, **work.model_dump(), **counted, **bound_row(work, peaks, maths)}


def show_work(problem: Problem, work: Work | None, peaks: Peaks | None, maths: Sequence[MathMode]) -> None:
    """A table: FLOPs, bytes by what they are, intensity, bound."""
    from rich.table import Table

    out = console()
    out.print(f"{problem.key} {problem.name}, sizes {problem.sizes}", markup=False, highlight=False)
    if work is None:
        out.print("its forward looks at values, so its work cannot be told without running it")
        return
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 2))
    table.add_row("FLOPs", f"{work.flops / 1e9:.4g} G" if work.flops else "no matrix products or convolutions")
    for name in ("inputs", "parameters", "outputs"):
        table.add_row(name, f"{getattr(work, name) / 1e6:.4g} MB")
    table.add_row("bytes together", f"{work.bytes / 1e6:.4g} MB")
    table.add_row("intensity", f"{work.intensity:.4g} FLOP/B" if work.intensity is not None else "")
    if peaks is None:
        table.add_row("bound", "not known: run `kernelgauge doctor --measure`")
    else:
        _bounds(table, work, peaks, maths)
    out.print(table)


def _bounds(table: Table, work: Work, peaks: Peaks, maths: Sequence[MathMode]) -> None:
    for math in maths:
        least = least_time(work, peaks, math)
        if least is None:
            table.add_row(f"bound, {math}", f"none: all of it fits into {peaks.cache_bytes >> 20} MiB of cache")
            continue
        parts = f"{least.bytes_ms:.4g} by bytes, {least.flops_ms:.4g} by FLOPs in {least.rate}"
        table.add_row(f"bound, {math}", f"{least.ms:.4g} ms ({parts}; {peaks.name}, {peaks.source})")

"""A comparison as tables for a terminal of 100 columns."""

from __future__ import annotations

from rich import box
from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from kernelgauge.report.figures.compare import PAIR_STANDINGS, Comparison, Row, Versus
from kernelgauge.report.figures.hardware import Kept
from kernelgauge.report.figures.refusals import Refused

COLOURS = {"faster": "green", "gained": "green", "slower": "red", "lost": "red"}
LISTED = 12


def render(found: Comparison, every: bool = False) -> RenderableType:
    """The comparison as something rich can print; without `every`, only problems on which the runs surely differ."""
    parts: list[RenderableType] = [Text(f"! {warning}", style="yellow") for warning in found.warnings]
    parts.append(_sides(found))
    for versus in found.versus:
        parts += [_summary(versus, found.sides[0].label), _rows(versus, found.sides[0].label, every)]
        if versus.others:
            more = f" and {len(versus.others) - LISTED} more" if len(versus.others) > LISTED else ""
            listed = ", ".join(versus.others[:LISTED]) + more
            parts.append(Text(f" in no figure, since only one run has judged this text: {listed}", style="dim"))
    if found.hardware:
        parts += _hardware(found.hardware, every)
    return Group(*parts)


def _table(title: str, *columns: str, left: int = 1, caption: str = "") -> Table:
    table = Table(title=title, caption=caption or None, box=box.SIMPLE_HEAD, title_justify="left")
    table.caption_justify = "left"
    for place, name in enumerate(columns):
        table.add_column(name, justify="left" if place < left else "right")
    return table


def _sides(found: Comparison) -> Table:
    table = _table("runs", "run", "contestant", "machine", "problems", "refused", left=3)
    for side in found.sides:
        names = escape(side.label), escape(side.contestant), escape(side.machine)
        table.add_row(*names, str(side.problems), _refused(side.refused))
    return table


def _refused(found: Refused) -> str:
    """Share of the samples, and how many for rules of which class."""
    classes = ", ".join(f"{name} {count}" for name, count in found.samples_by_class.items())
    return "–" if found.share is None else f"{100 * found.share:.1f} %" + (f"\n{classes}" if classes else "")


def _summary(versus: Versus, first: str) -> Table:
    title = f"{escape(versus.label)} against {escape(first)}"
    columns = (
        "over the same problems",
        escape(first),
        escape(versus.label),
        "difference",
        "95 %",
        "wins",
        "losses",
        "p",
    )
    table = _table(title, *columns)
    for shares in versus.shares:
        name = "correct" if shares.p == 0 else f"fast_{shares.p:g}"
        ends = " to ".join(f"{100 * end:+.1f}" for end in shares.interval)
        figures = (*(f"{100 * share:.1f}" for share in shares.shares), f"{100 * shares.difference:+.1f}", ends)
        table.add_row(name, *figures, str(shares.better), str(shares.worse), _p(shares.p_value))
    if versus.typical is not None and versus.typical_interval and versus.p_value is not None:
        ends = " to ".join(f"{end:.3g}" for end in versus.typical_interval)
        counts = str(versus.counts["faster"]), str(versus.counts["slower"])
        table.add_row(
            f"speed ({versus.timed} timed in both)",
            "",
            "",
            f"{versus.typical:.3g}x",
            ends,
            *counts,
            _p(versus.p_value),
        )
    return table


def _p(value: float) -> str:
    return f"{value:.2g}" if value >= 1e-4 else "< 0.0001"


def _rows(versus: Versus, first: str, every: bool) -> RenderableType:
    counts = ", ".join(f"{versus.counts[verdict]} {verdict}" for verdict in PAIR_STANDINGS if versus.counts[verdict])
    shown = [row for row in versus.rows if every or row.verdict in COLOURS]
    if not shown:
        return Text(f" problems: {counts or 'none in both runs'}")
    hint = "" if every or len(shown) == len(versus.rows) else "; --all lists every problem"
    table = _table(
        f"problems: {counts}",
        "problem",
        "",
        escape(first),
        escape(versus.label),
        "ratio",
        "95 %",
        left=2,
        caption=hint[2:],
    )
    for row in sorted(shown, key=_order):
        table.add_row(
            escape(f"{row.problem} {row.name}"),
            f"[{COLOURS.get(row.verdict, 'dim')}]{row.verdict}[/]",
            *_figures(row),
        )
    return table


def _order(row: Row) -> tuple[int, float]:
    return PAIR_STANDINGS.index(row.verdict), -(row.ratio or 0)


def _figures(row: Row) -> tuple[str, ...]:
    speedups = ("–" if each is None else f"{each:.3g}x" for each in row.speedups)
    if row.ratio is None or row.interval is None:
        return (*speedups, "", "")
    return (*speedups, f"{row.ratio:.3g}", f"{row.interval[0]:.3g} to {row.interval[1]:.3g}")


def _hardware(kept: Kept, every: bool) -> list[RenderableType]:
    title = "of the kernels that are faster than the reference on the row's machine, faster on the column's too"
    table = _table(title, "machine", *(escape(name) for name in kept.machines))
    for one in kept.machines:
        cells = []
        for other in kept.machines:
            wins = kept.wins[one].get(other)
            share = f" {100 * wins.share:.0f} %" if wins and wins.share is not None else ""
            cells.append(f"{wins.there} of {wins.here}{share}" if wins else "–")
        table.add_row(escape(one), *cells)
    parts: list[RenderableType] = [table]
    moved = [k for k in kept.kernels if every or len({cell.standing for cell in k.cells.values()}) > 1]
    if not moved:
        return [*parts, Text(f" all {len(kept.kernels)} kernels judged on several machines stand alike on them")]
    rows = _table("kernels that stand differently" if not every else "kernels", "kernel", *kept.machines)
    for kernel in moved:
        cells = []
        for name in kept.machines:
            cell = kernel.cells.get(name)
            speed = f" {cell.speedup:.3g}x" if cell and cell.speedup else ""
            cells.append(f"[{COLOURS.get(cell.standing, 'dim')}]{cell.standing}[/]{speed}" if cell else "")
        rows.add_row(escape(f"{kernel.problem} {kernel.name} {kernel.candidate_digest[:8]}"), *cells)
    return [*parts, rows]

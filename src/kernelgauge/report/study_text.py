"""A study as tables for a terminal of 100 columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from kernelgauge.report.figures.study.failures import CLASSES, Category
from kernelgauge.report.figures.study.study import Study
from kernelgauge.report.figures.study.turns import Evolution
from kernelgauge.report.figures.study.winners import Winners

LISTED = 20
"""Categories in the table; a longer list ends with how many more there are."""


def render(found: Study) -> RenderableType:
    """The study as something rich can print."""
    parts: list[RenderableType] = [
        Text(f"study of {', '.join(found.contestants) or 'no answers'}", style="bold"),
        _categories(found.categories),
    ]
    parts += _evolution(found.evolution) if found.evolution else [Text(NO_TURNS, style="dim")]
    parts += [_winners(found.winners)] if found.winners else [Text(NO_WINNERS, style="dim")]
    return Group(*parts)


NO_TURNS = "no answer goes on from another one: there are no turns"
NO_WINNERS = "no candidate that counts is right and timed: there are no winners"


def _categories(categories: Sequence[Category]) -> Table:
    table = _table("failure classes by kind of problem", "a problem with several tags is in several rows")
    classes = _occurring(each.classes for each in categories)
    _columns(table, "kind", "problems", "answers", "failed %", *classes)
    for each in categories[:LISTED]:
        low, high = each.interval
        failed = f"{each.failed * 100:.0f} [dim]{low * 100:.0f}–{high * 100:.0f}[/dim]"
        counts = [str(each.classes.get(name, "")) for name in classes]
        table.add_row(escape(each.name), str(each.problems), str(each.answers), failed, *counts)
    if len(categories) > LISTED:
        table.caption = f"and {len(categories) - LISTED} more: --json has all"
    return table


def _evolution(found: Evolution) -> list[RenderableType]:
    turns = _table(f"errors over turns, {found.samples} samples")
    classes = _occurring([each.classes for each in found.turns])
    _columns(turns, "turn", "answers", *classes, "faster", "median speedup")
    for each in found.turns:
        speed = "–" if each.speedup is None else f"{each.speedup:.2f}x"
        counts = [str(each.classes.get(name, "")) for name in classes]
        turns.add_row(str(each.number), str(each.answers), *counts, str(each.faster), speed)
    changes = _table(
        "what the next turn makes of it",
        f"{found.same_failure} answers failed by the same outcome as the one that they went on from",
    )
    _columns(changes, "before", "gone on from", *(f"then {name}" for name in classes), "then right %")
    for change in found.changes:
        counts = [str(change.after.get(name, "")) for name in classes]
        changes.add_row(change.before, str(change.answers), *counts, f"{change.passed * 100:.0f}")
    return [turns, changes]


def _winners(found: Winners) -> Table:
    table = _table(
        f"what {found.winners} faster candidates have in common, beside {found.others} others that are right",
        f"shares in percent; told by text, and by profile for {found.profiled}; no proof of a cause",
    )
    _columns(table, "means", "winners", "others", "difference", "median with", "without")
    for mean in found.means:
        shares = [
            f"{with_ / of * 100:.0f} [dim]{with_}/{of}[/dim]" if of else "–"
            for with_, of in ((mean.winners_with, mean.winners), (mean.others_with, mean.others))
        ]
        gap = "–"
        if mean.difference is not None and mean.interval is not None:
            low, high = (end * 100 for end in mean.interval)
            gap = f"{mean.difference * 100:+.0f} [dim]{low:+.0f} to {high:+.0f}[/dim]"
        speeds = ["–" if s is None else f"{s:.2f}x" for s in (mean.speedup_with, mean.speedup_without)]
        table.add_row(mean.name, *shares, gap, *speeds)
    return table


def _occurring(counted: Iterable[Mapping[str, int]]) -> list[str]:
    """The classes that any of these has, in their order."""
    there = {name for counts in counted for name in counts}
    return [name for name in CLASSES if name in there]


def _columns(table: Table, first: str, *others: str) -> None:
    table.add_column(first, no_wrap=True)
    for name in others:
        table.add_column(name, justify="right")


def _table(title: str, caption: str = "") -> Table:
    return Table(
        title=title, caption=caption or None, title_justify="left", caption_justify="left", box=box.SIMPLE_HEAD
    )

"""Names, numbers and lists of results in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from page_blocks import Block, Paragraph

LISTED = 12
"""Problems named in full; a longer list ends with how many more there are."""
QUARTILE_NAMES = ("5 %", "25 %", "median", "75 %", "95 %")

Content = Mapping[str, Any]


def pending(problems: list[str]) -> Iterator[Block]:
    """What was asked for and has no record."""
    if problems:
        yield Paragraph(f"Not judged, in no figure above: {len(problems)}: {listed(problems)}.")


def too_large(found: list[Content]) -> Iterator[Block]:
    """What does not fit the GPU's memory."""
    if found:
        named = [f"{each['problem']} ({number(each['needed_gb'], 3)} GB)" for each in found]
        yield Paragraph(f"Too large for the GPU's memory, in no figure above: {len(found)}: {listed(named)}.")


def listed(names: list[str]) -> str:
    """The first of them, and how many more there are."""
    more = len(names) - LISTED
    return ", ".join(names[:LISTED]) + (f" and {more} more" if more > 0 else "")


def words(name: str) -> str:
    """A name with spaces."""
    return name.replace("_", " ")


def number(value: float | None, digits: int) -> str:
    """So many significant digits, or a dash."""
    return "–" if value is None else f"{value:.{digits}g}"


def interval(row: Content) -> str:
    """The interval of a row's speedup, or a dash."""
    return "–" if row.get("low") is None else f"{row['low']:.4g}–{row['high']:.4g}"

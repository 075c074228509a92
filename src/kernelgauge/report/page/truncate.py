"""What of long texts a page shows: their ends, with a sentence about what is left out and where the whole lies."""

from __future__ import annotations

from kernelgauge.schema import Record


class Limits(Record):
    """The most characters that a page shows of a text beside a candidate, and the most findings."""

    log: int = 6000
    reason: int = 2000
    """Also of a note, and of what an attempt's author was told."""
    findings: int = 60


DETAILS = (Limits(), Limits(log=1500, reason=500, findings=20), Limits(log=300, reason=200, findings=5))
"""What is tried in turn until the details of a page are small enough; the last one always is."""

IN_A_ROW = 300
"""Characters of a reason in the table, which is read whole when a page opens; a row opens to more."""


def cut(text: str, most: int, where: str, head: float = 0.75) -> str:
    """At most about `most` characters of a text, and what is missing.

    Args:
        where: the whole lies there, for a reader; empty if that cannot be said.
        head: the part that is of the beginning; the rest is of the end.
    """
    if len(text) <= most:
        return text
    first = round(most * head)
    last = most - first
    there = f"; the whole is in {where}" if where else ""
    gone = f"[cut here: {len(text) - most:,} of {len(text):,} characters are left out of this page{there}]"
    parts = (text[:first], gone, text[len(text) - last :] if last else "")
    return "\n".join(part for part in parts if part)


def shortened(text: str, most: int = IN_A_ROW) -> str:
    """The beginning of a text in one row."""
    return text if len(text) <= most else f"{text[: most - 1]}…"

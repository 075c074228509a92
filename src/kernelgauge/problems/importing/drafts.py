"""What a source of problems yields: drafts, not yet checked, and refusals, each one sentence."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from kernelgauge.errors import ProblemError
from kernelgauge.problems.importing.naming import split
from kernelgauge.schema import Record

MOST = 5000
"""Problems a source may hold: more is a folder that somebody did not mean."""


class Refused(Record):
    """A part of the source that is left out."""

    where: str
    reason: str
    """One sentence that names it."""


def refuse(where: str, why: str) -> Refused:
    return Refused(where=where, reason=f"{where} {why}")


@dataclass(frozen=True)
class Draft:
    """A problem on its way in."""

    where: str
    """What messages call it."""
    level: int
    number: int | None
    """None: to be numbered."""
    title: str
    """As its author calls it, without the number."""
    read: Callable[[], bytes]
    """Its text as it lies there. Raises ProblemError."""


Found = Draft | Refused


def printable(name: str | Path) -> str:
    """A file name that can stand in a sentence, whatever bytes it is made of."""
    text = os.fsencode(name).decode(errors="replace")
    return text if text.isprintable() else ascii(text)


def check_count(count: int, source: Path) -> None:
    """Raises ProblemError if a source holds more than anybody calls a suite."""
    if count > MOST:
        raise ProblemError(f"{printable(source)} holds more than {MOST} problems: is it what you mean?")


def titled(stem: str, where: str, level: int, read: Callable[[], bytes], number: int | None = None) -> Draft:
    """A draft whose number, unless it is known, and title come from a file's stem such as `23_Softmax`."""
    written, title = split(stem)
    if number is not None and written != number:
        title = stem
    return Draft(where, level, number if number is not None else written, title, read)


def numbered(drafts: list[Draft]) -> list[Draft]:
    """All drafts by level and number; those without one get the free numbers from 1 on, in order of name.

    Before anything is checked, so that mending one file moves no number of another.
    """
    done = [draft for draft in drafts if draft.number is not None]
    taken = {(draft.level, draft.number) for draft in done}
    last: dict[int, int] = {}
    for draft in sorted((each for each in drafts if each.number is None), key=lambda each: each.where):
        number = last.get(draft.level, 0) + 1
        while (draft.level, number) in taken:
            number += 1
        last[draft.level] = number
        done.append(replace(draft, number=number))
    return sorted(done, key=lambda draft: (draft.level, draft.number, draft.where))

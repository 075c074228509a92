"""From an answer in words to the ideas in it: the items of its list."""

from __future__ import annotations

import re

from kernelgauge.generation.extraction import without_reasoning

# What follows the mark is apart from it: a line that goes on with "3.5 times" is no item.
_MARK = r"(?:idea\s*\d{1,2}\s*[-–—.):]|\d{1,2}\s*[.):])(?=[\s*]|$)"
_NUMBERED = re.compile(rf"\s{{0,3}}(?:#{{1,6}}\s*)?(?:\*\*)?{_MARK}(?P<text>.*)", re.IGNORECASE)
_DASHED = re.compile(r"\s{0,3}[-*•]\s(?P<text>.*)")
_LONGEST = 2000


def ideas_in(answer: str) -> tuple[str, ...]:
    """Each numbered item with the lines that belong to it, or where none is numbered each item with a dash.

    One idea where there is no list, none where there is no text.
    """
    spoken = without_reasoning(answer).strip()
    for item in (_NUMBERED, _DASHED):
        items: list[list[str]] = []
        for line in spoken.splitlines():
            if match := item.match(line):
                items.append([match["text"]])
            elif items:
                items[-1].append(line)
        if items:
            return tuple(idea for lines in items if (idea := _tidy(lines)))
    return (_tidy([spoken]),) if spoken else ()


def _tidy(lines: list[str]) -> str:
    return " ".join(" ".join(lines).replace("**", "").split())[:_LONGEST]

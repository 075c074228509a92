"""C++ and CUDA as tokens: comments gone, lines spliced, digraphs replaced, strings told from code.

Follows the translation phases of ISO C++20 [lex.phases], without trigraphs, which C++17 has dropped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["identifier", "number", "string", "punctuation", "newline"]

_DIGRAPHS = {"<:": "[", ":>": "]", "<%": "{", "%>": "}", "%:": "#", "%:%:": "##"}
_RAW = re.compile(r'(?:u8|[uUL])?R"([^()\\\s]{0,16})\(')
_TOKEN = re.compile(
    r"""(?P<space>[ \t\f\v\r]+)
    |(?P<newline>\n)
    |(?P<comment>//[^\n]*|/\*.*?(?:\*/|\Z))
    |(?P<string>(?:u8|[uUL])?(?:"(?:[^"\\\n]|\\(?:.|\Z))*+(?:"|(?=\n)|\Z)|'(?:[^'\\\n]|\\(?:.|\Z))*+(?:'|(?=\n)|\Z)))
    |(?P<identifier>[^\W\d]\w*)
    |(?P<number>\.?\d(?:[eEpP][+-]|'\w|[\w.])*)
    |(?P<punctuation>%:%:|<::(?![:>])|<:|:>|<%|%>|%:|<<<|>>>|\#\#|::|->\*?|\.\.\.|.)""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True)
class Token:
    """One token; line and column are those of the text before splicing, from 1."""

    kind: Kind
    text: str
    line: int
    column: int
    apart: bool = field(default=False, compare=False)
    """Whether white space or a comment stands before it, as it matters to macros alone."""


def tokens(source: str) -> Iterator[Token]:
    """The tokens of a text; never raises, whatever the text is. A newline is a token, which directives end with."""
    text, places = _spliced(source)
    position, lines, closings = 0, _Lines(source), dict[str, int]()
    apart = False
    while position < len(text):
        raw = _RAW.match(text, position)
        end = _end_of_raw(text, raw, closings) if raw else None
        if end is not None:
            yield Token("string", text[position:end], *lines.place(places[position]), apart)
            position, apart = end, False
            continue
        match = _TOKEN.match(text, position)
        assert match is not None and match.lastgroup is not None, "the last alternative matches anything"
        kind, found = match.lastgroup, match.group()
        if found == "<::":  # `<::x` is `<` and `::x`, not a digraph [lex.pptoken]
            found = "<"
        if kind not in ("space", "comment"):
            yield Token(kind, _DIGRAPHS.get(found, found), *lines.place(places[position]), apart)  # type: ignore[arg-type]
        apart = kind in ("space", "comment")
        position += len(found)


def _end_of_raw(text: str, opened: re.Match[str], last: dict[str, int]) -> int | None:
    """One past the end of a raw string; None if it is never closed, so that it is none.

    Args:
        last: where in this text each closing is found last, so that thousands that are never closed cost little.
    """
    closing = f'){opened[1]}"'
    if closing not in last:
        last[closing] = text.rfind(closing)
    return text.find(closing, opened.end()) + len(closing) if last[closing] >= opened.end() else None


def _spliced(source: str) -> tuple[str, list[int]]:
    """The text with backslash and newline removed outside raw strings, and where each of its letters stood.

    Inside raw strings splices are undone [lex.pptoken]; here they are not made.
    """
    source = source.replace("\r\n", " \n")
    letters: list[str] = []
    places: list[int] = []
    position, closings = 0, dict[str, int]()
    while position < len(source):
        raw = _RAW.match(source, position) if source[position] in "RuUL" and _starts_token(source, position) else None
        end = _end_of_raw(source, raw, closings) if raw else None
        if end is not None:
            letters.append(source[position:end])
            places.extend(range(position, end))
            position = end
        elif source[position] == "\\" and (splice := _SPLICE.match(source, position)):
            position = splice.end()
        else:
            letters.append(source[position])
            places.append(position)
            position += 1
    return "".join(letters), places


_SPLICE = re.compile(r"\\[ \t]*\n")


def _starts_token(source: str, position: int) -> bool:
    before = source[position - 1] if position else " "
    return not (before.isalnum() or before == "_")


class _Lines:
    """Line and column of a position; positions are asked for in rising order."""

    def __init__(self, source: str):
        self._source = source
        self._line, self._start = 1, 0

    def place(self, position: int) -> tuple[int, int]:
        while (end := self._source.find("\n", self._start, position)) >= 0:
            self._line, self._start = self._line + 1, end + 1
        return self._line, position - self._start + 1

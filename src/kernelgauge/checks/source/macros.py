"""What a C++ text says once its own macros are put in: definitions, pasting, and parts switched off by `#if 0`.

An approximation of the preprocessor [cpp.replace]: what other files define is unknown, and of the branches of any
other condition all are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from kernelgauge.checks.source.tokens import Token, tokens

# A few lines of macros can expand into more than fits into memory.
_MOST = 200_000
_DEEPEST = 24
# Tokens looked at for the ends of arguments: brackets that are never closed are searched for again and again.
_PATIENCE = 1_000_000


@dataclass(frozen=True)
class _Macro:
    parameters: tuple[str, ...] | None
    """None where the macro takes none and needs no brackets."""
    body: tuple[Token, ...]


def preprocessed(source: str) -> list[Token]:
    """The tokens of the code, without directives and newlines, each macro of the text replaced by what it stands for.

    A replaced token stands where its macro was used. At most 200 000 tokens.
    """
    macros: dict[str, _Macro] = {}
    code: list[Token] = []
    for line, directive in _lines(source):
        if not directive:
            code += line
        elif len(line) > 1 and line[0].text == "define":
            macros[line[1].text] = _defined(line[1:])
    found: list[Token] = []
    for token in _Expansion(macros).of(code):
        if len(found) >= _MOST:
            break
        found.append(token)
    return found


def _lines(source: str) -> Iterator[tuple[list[Token], bool]]:
    """Directives without their `#`, and what stands between them, where `#if 0` has not switched it off."""
    line: list[Token] = []
    off = 0
    for token in [*tokens(source), Token("newline", "\n", 0, 0)]:
        if token.kind != "newline":
            line.append(token)
            continue
        directive = bool(line) and line[0].text == "#"
        words = [each.text for each in line[1:3]] if directive else []
        if off:
            off += (words[:1] in (["if"], ["ifdef"], ["ifndef"])) - (words == ["endif"])
            off = 0 if off == 1 and words[:1] in (["else"], ["elif"]) else off
        elif words in (["if", "0"], ["if", "false"]):
            off = 1
        elif line:
            yield (line[1:] if directive else line), directive
        line = []


def _defined(line: Sequence[Token]) -> _Macro:
    """A macro from its name and what follows; a bracket right behind the name opens its parameters."""
    name, *rest = line
    touching = bool(rest) and rest[0].text == "(" and rest[0].column == name.column + len(name.text)
    if not touching:
        return _Macro(None, tuple(rest))
    closed = next((place for place, token in enumerate(rest) if token.text == ")"), len(rest) - 1)
    parameters = tuple(token.text for token in rest[1:closed] if token.text != ",")
    return _Macro(parameters, tuple(rest[closed + 1 :]))


class _Expansion:
    """Puts in what macros stand for."""

    def __init__(self, macros: dict[str, _Macro]):
        self._macros = macros
        self._patience = _PATIENCE

    def of(self, code: Sequence[Token], inside: frozenset[str] = frozenset(), depth: int = 0) -> Iterator[Token]:
        """The tokens, each macro replaced but those whose replacement this is `inside` of."""
        place = 0
        while place < len(code):
            token = code[place]
            macro = self._macros.get(token.text) if token.kind == "identifier" and token.text not in inside else None
            given, end = list[list[Token]](), place + 1
            if macro is not None and macro.parameters is not None:
                given, end = self._arguments(code, place + 1)
            called = macro is not None and (macro.parameters is None or end > place + 1)
            if macro is None or not called or depth > _DEEPEST:
                yield token
                place += 1
                continue
            body = _pasted(_with_arguments(macro, given))
            here = [replace(each, line=token.line, column=token.column) for each in body]
            yield from self.of(here, inside | {token.text}, depth + 1)
            place = end

    def _arguments(self, code: Sequence[Token], place: int) -> tuple[list[list[Token]], int]:
        """The arguments in brackets from `place` on, and the place behind them; `place` itself if there are none."""
        if place >= len(code) or code[place].text != "(":
            return [], place
        given: list[list[Token]] = [[]]
        depth = 0
        for end in range(place, len(code)):
            self._patience -= 1
            if self._patience < 0:
                break
            token = code[end]
            depth += (token.text in ("(", "[", "{")) - (token.text in (")", "]", "}"))
            if depth == 0:
                return given, end + 1
            if token.text == "," and depth == 1:
                given.append([])
            elif end > place:
                given[-1].append(token)
        return [], place


def _with_arguments(macro: _Macro, given: Sequence[Sequence[Token]]) -> Iterator[Token]:
    names = dict(zip(macro.parameters or (), given, strict=False))
    rest = [token for argument in given[max(0, len(macro.parameters or ()) - 1) :] for token in argument]
    for token in macro.body:
        if token.text == "__VA_ARGS__":
            yield from rest
        elif token.kind == "identifier" and token.text in names:
            yield from names[token.text]
        else:
            yield token


def _pasted(body: Iterator[Token]) -> list[Token]:
    """`a ## b` as one token."""
    found: list[Token] = []
    joining = False
    for token in body:
        if token.text == "##":
            joining = bool(found)
        elif joining:
            found[-1] = replace(found[-1], text=found[-1].text + token.text)
            joining = False
        else:
            found.append(token)
    return found

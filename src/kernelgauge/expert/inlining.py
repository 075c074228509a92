"""One text out of a candidate and the parts that it imports: a candidate stands alone."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from kernelgauge.generation.folder import read_source

_PACKAGE = "kernelgauge.expert.parts"
_PARTS = Path(__file__).parent / "parts"
_FUTURE = "from __future__ import annotations\n"


def whole(source: str) -> str:
    """The text with each `from kernelgauge.expert.parts.NAME import ...` replaced by that part, which is there once.

    Raises:
        SyntaxError: the text or a part is not Python.
        CandidateError: there is no such part.
    """
    note, body = _parted(source)
    return note + _FUTURE + _inlined(body, set())


def _parted(source: str) -> tuple[str, str]:
    """The docstring, which must stay first, and what follows."""
    tree = ast.parse(source)
    if not (ast.get_docstring(tree) and tree.body):
        return "", source
    lines = source.splitlines(keepends=True)
    end = tree.body[0].end_lineno or 0
    return "".join(lines[:end]), "".join(lines[end:])


def _inlined(source: str, there: set[str]) -> str:
    """With what each part uses before it, as it must be when the text runs."""
    lines = source.replace(_FUTURE, "").splitlines(keepends=True)
    out, done = [], 0
    for node in ast.parse("".join(lines)).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{_PACKAGE}."):
            name = str(node.module).removeprefix(f"{_PACKAGE}.")
            out += lines[done : node.lineno - 1]
            out += [] if name in there else [_part(name, there)]
            done = node.end_lineno or node.lineno
    return "".join([*out, *lines[done:]])


def _part(name: str, there: set[str]) -> str:
    there.add(name)
    return _inlined(_body(name), there).strip("\n") + "\n"


@cache
def _body(name: str) -> str:
    """Of a part, without its docstring: many candidates are made of the same few."""
    return _parted(read_source(_PARTS / f"{name}.py"))[1]

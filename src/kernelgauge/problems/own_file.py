"""Reads a problem file of the user's own and says what is wrong with it, without executing any of it."""

from __future__ import annotations

import ast
from pathlib import Path

from kernelgauge.errors import ProblemError
from kernelgauge.syntax import parse

MAX_BYTES = 1_000_000
_NEEDED = {
    "Model": "a class `Model`",
    "get_inputs": "a function `get_inputs`",
    "get_init_inputs": "a function `get_init_inputs`",
}


def read(path: Path) -> str:
    """The text of a problem file that parses and defines `Model`, `get_inputs` and `get_init_inputs`.

    Raises ProblemError, naming the file and what is the matter, for anything else.
    """
    return checked(raw(path), str(path))


def checked(content: bytes, where: str) -> str:
    """The text of a problem from its bytes, as from `read`; `where` is what messages call it. Raises ProblemError."""
    text = decoded(content, where)
    defined = _definitions(where, text)
    missing = [what for name, what in _NEEDED.items() if name not in defined]
    if missing:
        needs = " and ".join(missing) if len(missing) < 3 else f"{', '.join(missing[:-1])} and {missing[-1]}"
        raise ProblemError(f"{where} does not define {needs} at its top level, as a problem file must")
    return text


def raw(path: Path, where: str | None = None) -> bytes:
    """At most `MAX_BYTES` + 1 bytes of a regular file; `where` is what messages call it. Raises ProblemError."""
    where = str(path) if where is None else where
    try:
        if path.is_dir():
            raise ProblemError(f"{where} is a directory, not a problem file")
        if not path.exists():
            raise ProblemError(f"there is no file {where}")
        if not path.is_file():
            raise ProblemError(f"{where} is not a regular file")
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise ProblemError(f"{where} cannot be read: {why}") from error


def decoded(content: bytes, where: str) -> str:
    """The text in these bytes, without its byte order mark. Raises ProblemError if it is too large, empty or none."""
    if len(content) > MAX_BYTES:
        raise ProblemError(f"{where} is larger than {MAX_BYTES // 1_000_000} MB: too large for a problem file")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ProblemError(f"{where} is not UTF-8 text (byte {error.start})") from error
    if not text.strip():
        raise ProblemError(f"{where} is empty")
    return text


def _definitions(where: str, text: str) -> set[str]:
    """The needed names defined at top level: `Model` as a class, the others as functions or lambdas."""
    found = set()
    for statement in _parsed(where, text).body:
        match statement:
            case ast.ClassDef(name="Model") | ast.FunctionDef(name="get_inputs" | "get_init_inputs"):
                found.add(statement.name)
            case ast.Assign(targets=[ast.Name(id="get_inputs" | "get_init_inputs" as name)], value=ast.Lambda()):
                found.add(name)
    return found


def _parsed(where: str, text: str) -> ast.Module:
    try:
        return parse(text, filename=where)
    except SyntaxError as error:
        raise ProblemError(f"{where}, line {error.lineno}: {error.msg}") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise ProblemError(f"{where} does not parse: {str(error) or type(error).__name__}") from error

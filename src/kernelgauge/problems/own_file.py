"""Reads a problem file of the user's own and says what is wrong with it, without executing any of it."""

from __future__ import annotations

import ast
from pathlib import Path

from kernelgauge.errors import ProblemError

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
    text = _text(path)
    defined = _definitions(path, text)
    missing = [what for name, what in _NEEDED.items() if name not in defined]
    if missing:
        needs = " and ".join(missing) if len(missing) < 3 else f"{', '.join(missing[:-1])} and {missing[-1]}"
        raise ProblemError(f"{path} does not define {needs} at its top level, as a problem file must")
    return text


def _text(path: Path) -> str:
    try:
        if path.is_dir():
            raise ProblemError(f"{path} is a directory, not a problem file")
        if not path.exists():
            raise ProblemError(f"there is no file {path}")
        if not path.is_file():
            raise ProblemError(f"{path} is not a regular file")
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise ProblemError(f"{path} cannot be read: {why}") from error
    if len(content) > MAX_BYTES:
        raise ProblemError(f"{path} is larger than {MAX_BYTES // 1_000_000} MB: too large for a problem file")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ProblemError(f"{path} is not UTF-8 text (byte {error.start})") from error
    if not text.strip():
        raise ProblemError(f"{path} is empty")
    return text


def _definitions(path: Path, text: str) -> set[str]:
    """The needed names defined at top level: `Model` as a class, the others as functions or lambdas."""
    found = set()
    for statement in _parsed(path, text).body:
        match statement:
            case ast.ClassDef(name="Model") | ast.FunctionDef(name="get_inputs" | "get_init_inputs"):
                found.add(statement.name)
            case ast.Assign(targets=[ast.Name(id="get_inputs" | "get_init_inputs" as name)], value=ast.Lambda()):
                found.add(name)
    return found


def _parsed(path: Path, text: str) -> ast.Module:
    try:
        return ast.parse(text, filename=str(path))
    except SyntaxError as error:
        raise ProblemError(f"{path}, line {error.lineno}: {error.msg}") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise ProblemError(f"{path} does not parse: {error or type(error).__name__}") from error

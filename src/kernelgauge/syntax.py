"""Python text to a syntax tree, from any thread."""

from __future__ import annotations

import ast
import threading
from typing import cast

# Before 3.11.8 and 3.12.2 the interpreter has one counter of depth for all threads: two that parse at once may end in
# "SystemError: AST constructor recursion depth mismatch" (gh-106905).
_parsing = threading.RLock()


def parse(text: str, filename: str = "<unknown>", mode: str = "exec") -> ast.Module:
    """As `ast.parse`; what it raises, this raises. In another mode than `exec`, the tree is one of that mode."""
    with _parsing:
        return cast(ast.Module, ast.parse(text, filename, mode))


def unreadable(text: str) -> str:
    """Why no process could import a text, as the rest of a sentence about its file; empty if it parses."""
    try:
        parse(text)
    except SyntaxError as error:
        return f"is not valid Python: line {error.lineno}: {error.msg}"
    except (ValueError, RecursionError, MemoryError) as error:
        return f"cannot be read as Python: {error}"
    return ""

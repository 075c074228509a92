"""A candidate's Python text, read once for all rules; constant texts given to `exec` and `eval` are read with it."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from typing import Any

from kernelgauge.checks.source.lead import Lead
from kernelgauge.checks.source.names import Names
from kernelgauge.checks.source.scopes import Scope, read
from kernelgauge.schema import KernelRule
from kernelgauge.syntax import parse

EXECUTES = ("builtins.exec", "builtins.eval", "builtins.compile")
_ROUNDS = 4
_EXCERPT = 120


class Unreadable(Exception):
    """The text is no Python."""


class PythonSource:
    """Expressions with their scopes, what they stand for, and where they are.

    Raises:
        Unreadable: it is no Python.
        RecursionError, MemoryError: it is nested too deeply.
    """

    def __init__(self, text: str):
        self._lines = text.splitlines()
        self._formed: list[tuple[ast.expr | ast.alias, str]] | None = None
        self.reading = read(_parsed(text, "exec"))
        self.names = Names(self.reading)
        done: set[int] = set()
        for _ in range(_ROUNDS):
            if not self._take_in_executed(done):
                break
            self.names = Names(self.reading)
        for node, scope in reversed(self.reading.expressions):  # from the inside out, which keeps the stack flat
            self.names.values(node, scope)

    def calls(self) -> Iterator[tuple[ast.Call, Scope]]:
        """All calls."""
        return ((node, scope) for node, scope in self.reading.expressions if isinstance(node, ast.Call))

    def formed(self) -> list[tuple[ast.expr | ast.alias, str]]:
        """Every dotted path where the text forms it: at an import or an expression, not where a name repeats it."""
        if self._formed is None:
            self._formed = list(self._all_formed())
        return self._formed

    def _all_formed(self) -> Iterator[tuple[ast.expr | ast.alias, str]]:
        for statement, _ in self.reading.statements:
            if isinstance(statement, ast.Import):
                yield from ((alias, alias.name) for alias in statement.names)
            elif isinstance(statement, ast.ImportFrom):
                origin = "." * statement.level + (statement.module or "")
                yield from ((alias, f"{origin}.{alias.name}") for alias in statement.names)
        for node, scope in self.reading.expressions:
            if not isinstance(node, ast.Name) or scope.binder(node.id) is None:
                yield from ((node, path) for path in self.names.paths(node, scope))

    def lead(self, rule: KernelRule, node: Any, reason: str, **more: Any) -> Lead:
        """A lead at the node, with the line it stands in; in an executed text no line can be told from another."""
        if getattr(node, "executed", False):
            more["place"] = None
        excerpt = self._lines[node.lineno - 1].strip() if node.lineno <= len(self._lines) else ""
        cut = excerpt if len(excerpt) <= _EXCERPT else excerpt[: _EXCERPT - 3] + "..."
        return Lead(rule, node.lineno, node.col_offset + 1, reason, cut, **more)

    def _take_in_executed(self, done: set[int]) -> bool:
        """Read the texts that are given to `exec` and its like; whether there were new ones."""
        found = False
        for node, scope in list(self.calls()):
            if id(node) in done or not node.args or not self.names.paths(node.func, scope) & {*EXECUTES}:
                continue
            done.add(id(node))
            for text in self.names.texts(node.args[0], scope):
                try:
                    tree = _parsed(text, "exec")
                except Unreadable:
                    continue
                for part in ast.walk(tree):
                    part.executed = True  # type: ignore[attr-defined]
                    if hasattr(part, "lineno"):
                        ast.copy_location(part, node)
                self.reading.add(tree, scope)
                found = True
        return found


def _parsed(text: str, mode: str) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes in other people's strings
            return parse(text, mode=mode)
    except (SyntaxError, ValueError) as error:
        raise Unreadable(str(error)) from error

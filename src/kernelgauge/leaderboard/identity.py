"""Which texts are the same kernel: what they compute from, without what only people read."""

from __future__ import annotations

import ast
import hashlib

from kernelgauge.checks.source.tokens import tokens
from kernelgauge.syntax import parse

_LARGEST = 65536


def identity(source: str) -> str:
    """A digest that texts share which differ in comments, docstrings, layout, quotes and parentheses alone.

    Of Python the syntax tree; of texts of several lines in it, as C++ and CUDA are, the tokens. What is no Python is
    taken word by word, and so is what is too large to be read in a moment or may read its own docstrings. Whoever
    renames a variable has another kernel. Never raises, whatever the text is.
    """
    try:
        if len(source) > _LARGEST or "__doc__" in source:
            raise ValueError
        plain = ast.dump(_Plain().visit(parse(source)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        plain = " ".join(source.split())
    return hashlib.sha256(plain.encode(errors="surrogatepass")).hexdigest()


class _Plain(ast.NodeTransformer):
    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        """A text on its own, a docstring among them, computes nothing."""
        return None if isinstance(node.value, ast.Constant) else self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if isinstance(node.value, str) and "\n" in node.value and not _is_python(node.value):
            return ast.Constant(_code(node.value), kind=node.kind)
        return node


def _is_python(text: str) -> bool:
    try:
        parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _code(text: str) -> str:
    """The tokens of C++ and CUDA. The end of a line counts only where a directive ends or begins."""
    lines: list[list[str]] = [[]]
    for token in tokens(text):
        if token.kind == "newline":
            lines.append([])
        else:
            lines[-1].append(token.text)
    words = []
    for line in lines:
        directive = line[:1] == ["#"]
        words += ["\n", *line, "\n"] if directive else line
    return " ".join(words)

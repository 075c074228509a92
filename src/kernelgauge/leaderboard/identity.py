"""Which texts are the same kernel: what they compute from, without what only people read."""

from __future__ import annotations

import ast
import hashlib
import re

from kernelgauge.checks.source.tokens import Token, tokens
from kernelgauge.syntax import parse

_LARGEST = 65536
# What C++ and CUDA have and other texts hardly: a directive, or a line that ends with a statement or a brace.
_C = re.compile(
    r"^[ \t]*#[ \t]*(?:include|define|undef|pragma|if|ifdef|ifndef)\b|[;{}][ \t\r]*(?:$|//|/\*)", re.MULTILINE
)
# With holes to fill in, Python is not read as Python, and may have braces.
_PYTHON = re.compile(
    r"^[ \t]*(?:(?:async|def|class|if|elif|for|while|with|except)\b.*|(?:else|try|finally)[ \t]*):[ \t\r]*(?:$|#)"
    r"|^[ \t]*(?:import|from)[ \t]+[\w.]+[ \t\r]*(?:$|import\b)",
    re.MULTILINE,
)


def identity(source: str) -> str:
    """A digest that texts share which differ in comments, docstrings, layout, quotes and parentheses alone.

    Of Python the syntax tree; of texts of several lines in it that look like C++ or CUDA, the tokens. What is no
    Python is taken word by word; what is too large to be read in a moment or may read its own docstrings, as it is.
    Whoever renames a variable has another kernel. Never raises, whatever the text is.
    """
    try:
        unread = len(source) > _LARGEST or "__doc__" in source
        plain = source if unread else ast.dump(_Plain().visit(parse(source)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        plain = " ".join(source.split())
    return hashlib.sha256(plain.encode(errors="surrogatepass")).hexdigest()


class _Plain(ast.NodeTransformer):
    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        """A text on its own, a docstring among them, computes nothing."""
        return None if isinstance(node.value, ast.Constant) else self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if isinstance(node.value, str) and "\n" in node.value and _is_c(node.value):
            return ast.Constant(_code(node.value), kind=node.kind)
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        """The pieces of a text with holes may begin within a string or a comment: they stay as they are."""
        node.values = [part if isinstance(part, ast.Constant) else self.visit(part) for part in node.values]
        return node


def _is_c(text: str) -> bool:
    return bool(_C.search(text)) and not _PYTHON.search(text) and not _is_python(text)


def _is_python(text: str) -> bool:
    try:
        parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _code(text: str) -> str:
    """The tokens of C++ and CUDA. The end of a line counts only where a directive ends or begins."""
    lines: list[list[Token]] = [[]]
    for token in tokens(text):
        if token.kind == "newline":
            lines.append([])
        else:
            lines[-1].append(token)
    words = []
    for line in lines:
        found = [token.text for token in line]
        if found[:2] == ["#", "define"] and found[3:4] == ["("] and not line[3].apart:
            found[2:4] = [f"{found[2]}("]  # it takes arguments; after a space they were its text
        words += ["\n", *found, "\n"] if found[:1] == ["#"] else found
    return " ".join(words)

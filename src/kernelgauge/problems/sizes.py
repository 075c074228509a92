"""Rewrites the size constants in a problem's source text, which is parsed and never executed.

A size constant is a module-level assignment of one name, as in `batch_size = 4096`. Constants that follow
from others (`bias_shape = (out_channels, 1, 1)`) are expressions and follow by themselves.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from kernelgauge.errors import ProblemError
from kernelgauge.syntax import parse

Constant = int | float | bool | list[int]
"""Value of a size constant as the package data hold it; a list stands for a tuple or list of integers."""


def with_constants(source: str, constants: Mapping[str, Constant]) -> str:
    """`source` with the values of these module-level assignments replaced, every other byte as it was.

    A list becomes a tuple where the source has a tuple. Raises ProblemError if `source` does not parse, or if
    a constant is not assigned exactly once at module level.
    """
    nodes = _assignments(source)
    lines = source.encode().splitlines(keepends=True)  # of bytes: at the ends that Python's parser knows, no others
    replacements = [(_value_node(nodes, name), value) for name, value in constants.items()]
    # From the end backwards, so that the positions still to come stay right.
    replacements.sort(key=lambda pair: (pair[0].lineno, pair[0].col_offset), reverse=True)
    for node, value in replacements:
        first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
        before = lines[first][: node.col_offset]
        after = lines[last][node.end_col_offset :]
        lines[first : last + 1] = [before + _literal(node, value).encode() + after]
    return b"".join(lines).decode()


def plain_constants(source: str) -> dict[str, Constant]:
    """The module-level assignments of one name to a plain value, the last of each; a tuple becomes a list.

    Raises ProblemError if `source` does not parse.
    """
    found: dict[str, Constant] = {}
    for name, nodes in _assignments(source).items():
        try:
            value = ast.literal_eval(nodes[-1])
        except ValueError:
            continue
        found[name] = list(value) if isinstance(value, tuple) else value
    return found


def _assignments(source: str) -> dict[str, list[ast.expr]]:
    try:
        module = parse(source)
    except (SyntaxError, ValueError) as error:
        raise ProblemError(f"the problem's source does not parse: {error}") from error
    found: dict[str, list[ast.expr]] = {}
    for statement in module.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                found.setdefault(name, []).append(value)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                found.setdefault(name, []).append(value)
    return found


def _value_node(nodes: Mapping[str, list[ast.expr]], name: str) -> ast.expr:
    values = nodes.get(name, [])
    if len(values) != 1:
        how = "not assigned" if not values else f"assigned {len(values)} times"
        known = ", ".join(nodes) or "none"
        raise ProblemError(f"size constant {name!r} is {how} at module level (constants there: {known})")
    return values[0]


def _literal(node: ast.expr, value: Constant) -> str:
    if isinstance(value, list) and isinstance(node, ast.Tuple):
        return repr(tuple(value))
    return repr(value)

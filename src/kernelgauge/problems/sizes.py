"""Rewrites the size constants in a problem's source text, which is parsed and never executed.

A size constant is a module-level name that is assigned once: `batch_size = 4096`, `dim = 2048 * 2`, `a = b = 128`,
`a, b = 1, 2`. Constants that follow from others (`bias_shape = (out_channels, 1, 1)`) are expressions and follow by
themselves.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from kernelgauge.errors import ProblemError
from kernelgauge.problems.constants import assigned, bindings, module_of, rebound, values_of

Constant = int | float | bool | list[int]
"""Value of a size constant as the package data hold it; a list stands for a tuple or list of integers."""


@dataclass(frozen=True)
class _Place:
    """Where a constant gets its value."""

    node: ast.expr | None
    """The expression; None where it is a part of something that is no tuple, as in `a, b = shape`."""
    statement: ast.stmt
    sharing: tuple[str, ...]
    """All names that get the same expression, as in `a = b = 128`."""


def with_constants(source: str, constants: Mapping[str, Constant]) -> str:
    """`source` with the values of these module-level assignments replaced, every other byte as it was.

    A list becomes a tuple where the source has a tuple. `a = b = 128` becomes two assignments where both get other
    values. Raises ProblemError if `source` does not parse, or if a constant is not assigned exactly once at module
    level, to an expression of its own.
    """
    if not constants:
        module_of(source)
        return source
    places = _places(source)
    lines = source.encode().splitlines(keepends=True)  # of bytes: at the ends that Python's parser knows, no others
    tuples = {name for name, value in values_of(source).items() if isinstance(value, tuple)}
    tuples |= {name for name, those in places.items() if isinstance(those[-1].node, ast.Tuple)}
    literals = {name: _literal(value, name in tuples) for name, value in constants.items()}
    # From the end backwards, so that the positions still to come stay right.
    for node, text in sorted(_replacements(source, places, literals), key=lambda pair: _start(pair[0]), reverse=True):
        first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
        before = lines[first][: node.col_offset]
        after = lines[last][node.end_col_offset :]
        lines[first : last + 1] = [before + text.encode() + after]
    return b"".join(lines).decode()


def constants_of(source: str) -> dict[str, Constant]:
    """The module-level names that have numbers, or tuples or lists of integers, however that is written.

    Raises ProblemError if `source` does not parse.
    """
    found: dict[str, Constant] = {}
    for name, value in values_of(source).items():
        if isinstance(value, int | float):
            found[name] = value
        elif all(type(part) is int for part in value):
            found[name] = list(value)
    return found


def plain_constants(source: str) -> dict[str, Constant]:
    """The module-level assignments of one name to a plain value, the last of each; a tuple becomes a list.

    Raises ProblemError if `source` does not parse.
    """
    found: dict[str, Constant] = {}
    for name, places in _places(source).items():
        try:
            value = ast.literal_eval(places[-1].node) if places[-1].node else None
        except ValueError:
            continue
        if value is not None:
            found[name] = list(value) if isinstance(value, tuple) else value
    return found


def _places(source: str) -> dict[str, list[_Place]]:
    found: dict[str, list[_Place]] = {}
    for statement in module_of(source).body:
        for name in rebound(statement):
            found.setdefault(name, []).append(_Place(None, statement, ()))
        pairs = [pair for target, value in assigned(statement) for pair in bindings(target, value)]
        for name, node in pairs:
            sharing = tuple(other for other, same in pairs if same is node)
            found.setdefault(name, []).append(_Place(node, statement, sharing))
    return found


def _replacements(
    source: str, places: Mapping[str, list[_Place]], literals: Mapping[str, str]
) -> list[tuple[ast.expr | ast.stmt, str]]:
    """What to write in the place of which part of the text, none within another."""
    found: dict[int, tuple[ast.expr | ast.stmt, str]] = {}
    for name, text in literals.items():
        place = _place(places, name)
        assert place.node is not None
        if {literals.get(other) for other in place.sharing} == {text}:
            found[id(place.node)] = place.node, text
            continue
        if not isinstance(place.statement, ast.Assign) or len(place.statement.targets) != len(place.sharing):
            shared = ", ".join(place.sharing)
            raise ProblemError(f"size constant {name!r} shares its value in a way that cannot be parted ({shared})")
        kept = ast.get_source_segment(source, place.node) or ""
        parts = [f"{other} = {literals.get(other, kept)}" for other in place.sharing]
        found[id(place.statement)] = place.statement, "; ".join(parts)
    return list(found.values())


def _place(places: Mapping[str, list[_Place]], name: str) -> _Place:
    those = places.get(name, [])
    if len(those) != 1:
        how = "not assigned" if not those else f"assigned {len(those)} times"
        known = ", ".join(places) or "none"
        raise ProblemError(f"size constant {name!r} is {how} at module level (constants there: {known})")
    if those[0].node is None:
        raise ProblemError(f"size constant {name!r} gets its value from a statement that cannot be rewritten")
    return those[0]


def _start(node: ast.expr | ast.stmt) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _literal(value: Constant, as_tuple: bool) -> str:
    return repr(tuple(value) if isinstance(value, list) and as_tuple else value)

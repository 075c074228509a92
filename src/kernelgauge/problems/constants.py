"""The values of a problem's module-level constants, worked out from its parsed text, which is never executed.

People write the same size in many ways: `2048 * 2`, `a = b = 128`, `a, b = 1, 2`, `2 ** 20`, `M = N`. What can be
told from numbers, names of constants and arithmetic is told; everything else has no value here.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kernelgauge.errors import ProblemError
from kernelgauge.syntax import parse

Value = Any
"""An int, float or bool, or a tuple or list of such."""

_LARGEST_POWER = 64
_LARGEST_NUMBER = 1 << 64
_LONGEST = 4096

_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}


class Untold(Exception):
    """An expression whose value cannot be told without running it."""


def module_of(source: str) -> ast.Module:
    """Raises ProblemError if `source` does not parse."""
    try:
        return parse(source)
    except (SyntaxError, ValueError) as error:
        raise ProblemError(f"the problem's source does not parse: {error}") from error


def bindings(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr | None]]:
    """The names that an assignment binds, each with the part of the value it gets; None where no part is its own."""
    match target, value:
        case ast.Name(id=name), _:
            yield name, value
        case ((ast.Tuple(elts=targets) | ast.List(elts=targets)), (ast.Tuple(elts=parts) | ast.List(elts=parts))):
            if len(targets) == len(parts) and not any(isinstance(each, ast.Starred) for each in (*targets, *parts)):
                for each, part in zip(targets, parts, strict=True):
                    yield from bindings(each, part)
                return
            yield from _unpaired(target)
        case _:
            yield from _unpaired(target)


def assigned(statement: ast.stmt) -> list[tuple[ast.expr, ast.expr]]:
    """Targets and value of a plain assignment; empty for any other statement."""
    match statement:
        case ast.Assign(targets=targets, value=value):
            return [(target, value) for target in targets]
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            return [(target, value)]
    return []


def rebound(statement: ast.stmt) -> set[str]:
    """Names that a statement other than a plain assignment may bind: `N *= 2`, `for`, `if`, `import`, `def`."""
    if isinstance(statement, ast.AnnAssign) or assigned(statement):
        return set()
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {statement.name}
    found = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and _stored(node):
            found.add(node.id)
        elif isinstance(node, ast.alias):
            found.add((node.asname or node.name).partition(".")[0])
    return found


def values_of(source: str) -> dict[str, Value]:
    """The last value of every module-level name that can be told. Raises ProblemError if `source` does not parse."""
    known: dict[str, Value] = {}
    for statement in module_of(source).body:
        for name in rebound(statement):
            known.pop(name, None)
        # Python works the value out once, before it binds any of the names.
        found = [pair for target, value in assigned(statement) for pair in bindings(target, value)]
        told = [(name, _told(part, known)) for name, part in found]
        for name, value in told:
            if value is None:
                known.pop(name, None)
            else:
                known[name] = value
    return known


def evaluated(node: ast.expr, known: Mapping[str, Value]) -> Value:
    """The value of an expression of numbers, known names and arithmetic. Raises Untold."""
    match node:
        case ast.Constant(value=bool() | int() | float() as value):
            return value
        case ast.Name(id=name) if name in known:
            return known[name]
        case ast.Tuple(elts=parts):
            return tuple(evaluated(part, known) for part in parts)
        case ast.List(elts=parts):
            return [evaluated(part, known) for part in parts]
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign, operand=operand):
            value = _number(evaluated(operand, known))
            return -value if isinstance(sign, ast.USub) else +value
        case ast.BinOp(left=left, op=op, right=right):
            return _combined(op, evaluated(left, known), evaluated(right, known))
    raise Untold(type(node).__name__)


def _told(part: ast.expr | None, known: Mapping[str, Value]) -> Value:
    if part is None:
        return None
    try:
        return evaluated(part, known)
    except (Untold, RecursionError):
        return None


def _combined(op: ast.operator, left: Value, right: Value) -> Value:
    """Arithmetic of a stranger's text: nothing that could take long, or much memory."""
    if isinstance(op, ast.Mult) and isinstance(left, list | tuple) and isinstance(right, int):
        if not 0 <= len(left) * right <= _LONGEST:
            raise Untold("long")
        return left * right
    if isinstance(op, ast.Add) and type(left) is type(right) and isinstance(left, list | tuple):
        return left + right
    a, b = _number(left), _number(right)
    huge = isinstance(op, ast.Pow) and (abs(b) > _LARGEST_POWER or abs(a) > _LARGEST_NUMBER)
    if huge or type(op) not in _OPERATORS:
        raise Untold(type(op).__name__)
    try:
        found = _OPERATORS[type(op)](a, b)
    except (ArithmeticError, ValueError) as error:
        raise Untold(str(error)) from error
    if isinstance(found, complex) or abs(found) > _LARGEST_NUMBER:
        raise Untold("no size")
    return found


def _number(value: Value) -> int | float:
    if not isinstance(value, int | float):
        raise Untold("no number")
    return value


def _unpaired(target: ast.expr) -> Iterator[tuple[str, None]]:
    for node in ast.walk(target):
        if isinstance(node, ast.Name) and _stored(node):
            yield node.id, None


def _stored(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)

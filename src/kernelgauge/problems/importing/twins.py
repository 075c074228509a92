"""Whether an imported problem is the built-in one of its number and name, and which sizes it has then.

The texts are never the same: each is written by itself. What decides at which sizes a problem is judged can be
compared all the same: its constants by name and value, what the constructor and `forward` are given.
"""

from __future__ import annotations

import ast
from typing import Any

from kernelgauge.errors import ProblemError
from kernelgauge.problems.catalogue import Entry
from kernelgauge.problems.constants import Untold, evaluated, module_of, values_of
from kernelgauge.problems.own_file import checked, raw
from kernelgauge.problems.sizes import Constant, constants_of, with_constants
from kernelgauge.schema import Sizes


def sizes_from(twin: Entry, text: str) -> dict[Sizes, dict[str, Constant]]:
    """The reduced sizes of `twin` as constants of `text`; none where `text` is not seen to be the same problem.

    It is if every constant it has is one of the twin's with the same value, and the constructor's arguments and the
    names of `forward`'s are the same. A size is taken over if all its constants can be set there, and all others and
    the constructor's arguments then become what they are in the twin.
    """
    original = checked(raw(twin.path), str(twin.path))
    if not same(original, text):
        return {}
    found: dict[Sizes, dict[str, Constant]] = {}
    for size, values in twin.sizes.items():
        constants = _settings(with_constants(original, values), text, values)
        if constants is not None:
            found[size] = constants
    return found


def same(original: str, text: str) -> bool:
    """Whether both are seen to be one problem at one size. Raises ProblemError if one of them does not parse."""
    ours, theirs = constants_of(original), constants_of(text)
    alike = all(name in ours and _equal(value, ours[name]) for name, value in theirs.items())
    return alike and _given(original) == _given(text) and _same_names(_forward(original), _forward(text))


def _settings(reduced: str, text: str, asked: dict[str, Constant]) -> dict[str, Constant] | None:
    """What must be set in `text` to make it the problem `reduced`; None if that cannot be.

    What follows from other constants in the one text may stand as a number in the other.
    """
    wanted, own = constants_of(reduced), constants_of(text)
    if not asked.keys() <= own.keys():
        return None
    constants = {name: wanted[name] for name in asked}
    try:
        now = constants_of(with_constants(text, constants))
        constants |= {name: wanted[name] for name in own if not _equal(now.get(name), wanted[name])}
        return constants if same(reduced, with_constants(text, constants)) else None
    except ProblemError:  # written in a way that cannot be rewritten
        return None


def _given(text: str) -> Any:
    """What `get_init_inputs` gives to the constructor; None if it is more than one expression."""
    known = values_of(text)
    for statement in module_of(text).body:
        match statement:
            case ast.FunctionDef(name="get_init_inputs", body=[*_, ast.Return(value=ast.expr() as value)]):
                return _arguments(value, known)
            case ast.Assign(targets=[ast.Name(id="get_init_inputs")], value=ast.Lambda(body=value)):
                return _arguments(value, known)
    return None


def _forward(text: str) -> tuple[list[str], int]:
    """Names of `forward`'s arguments, and how many of them have no default."""
    for statement in module_of(text).body:
        if isinstance(statement, ast.ClassDef) and statement.name == "Model":
            for each in statement.body:
                if isinstance(each, ast.FunctionDef) and each.name == "forward":
                    names = [name.arg for name in each.args.args]
                    return names, len(names) - len(each.args.defaults)
    return [], 0


def _same_names(one: tuple[list[str], int], other: tuple[list[str], int]) -> bool:
    """Whether both take the same arguments; one may have more that need not be given."""
    shared = min(len(one[0]), len(other[0]))
    return one[0][:shared] == other[0][:shared] and max(one[1], other[1]) <= shared


def _arguments(value: ast.expr, known: dict[str, Any]) -> Any:
    """Each argument by its value, or by its text where that cannot be told; a list and a tuple are the same."""
    if isinstance(value, ast.List | ast.Tuple):
        return [_arguments(part, known) for part in value.elts]
    try:
        return _plain(evaluated(value, known))
    except Untold:
        return ast.dump(value)


def _plain(value: Any) -> Any:
    return [_plain(part) for part in value] if isinstance(value, list | tuple) else value


def _equal(one: Any, other: Any) -> bool:
    return type(one) is type(other) and bool(one == other)

"""Rule `imports_evaluator`: a candidate takes the evaluator's problems or judges into its process."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernelgauge.checks.source.lead import Lead
from kernelgauge.checks.source.python import PythonSource
from kernelgauge.schema import KernelRule

RULE: KernelRule = "imports_evaluator"
_OURS = "kernelgauge"
_FOR_CANDIDATES = ("kernels", "__version__", "__name__")
_FOR_TYPES = {"typing.TYPE_CHECKING", "typing_extensions.TYPE_CHECKING"}


def leads(source: PythonSource) -> Iterator[Lead]:
    """Where the text reaches for a part of kernelgauge that is not made for candidates."""
    types_only = _under_type_checking(source)
    for node, path in source.formed():
        top, _, rest = path.partition(".")
        if top == _OURS and rest and rest.partition(".")[0] not in _FOR_CANDIDATES:
            reason = f"reaches for {path}: only kernelgauge.kernels is made for candidates"
            place = types_only.get(id(node))
            yield source.lead(RULE, node, reason, certain=place is None, weak=place is not None, place=place)


def _under_type_checking(source: PythonSource) -> dict[int, tuple[int, int]]:
    """Imports that a run leaves out, unless somebody has seen to it that it does not: by id, with their lines."""
    found: dict[int, tuple[int, int]] = {}
    for statement, scope in source.reading.statements:
        if isinstance(statement, ast.If) and source.names.paths(statement.test, scope) & _FOR_TYPES:
            for inside in statement.body:
                if isinstance(inside, ast.Import | ast.ImportFrom) and not hasattr(inside, "executed"):
                    place = (inside.lineno, inside.end_lineno or inside.lineno)
                    found |= {id(alias): place for alias in inside.names}
    return found

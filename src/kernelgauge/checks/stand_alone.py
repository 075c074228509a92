"""What a candidate's text takes from the imports of its reference. Pure functions of two texts.

Published candidates were run in one namespace with the reference, and many use a module that only the reference
imports. Of the reference's text nothing but such import statements may reach a candidate.
"""

from __future__ import annotations

import ast
import re

from kernelgauge.syntax import parse

_UNDEFINED = re.compile(r"NameError: name '(\w+)' is not defined[^;\n]*")


def imports(text: str) -> dict[str, str]:
    """The names that a text's own top-level import statements bind, with the statement for each alone.

    Those of `from __future__`, relative ones and `*` are none of a module that could be brought elsewhere.
    """
    found: dict[str, str] = {}
    for node in _body(text):
        if isinstance(node, ast.Import):
            for alias in node.names:
                found[alias.asname or alias.name.partition(".")[0]] = ast.unparse(ast.Import([alias]))
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module != "__future__":
            for alias in node.names:
                if alias.name != "*":
                    found[alias.asname or alias.name] = ast.unparse(ast.ImportFrom(node.module, [alias], 0))
    return found


def lent(candidate: str, reference: str) -> tuple[str, ...]:
    """The import statements of the reference for names that the candidate uses and does not bind at its top level."""
    body = _body(candidate)
    used = {node.id for each in body for node in ast.walk(each) if isinstance(node, ast.Name)}
    bound = imports(candidate).keys() | _defined(body)
    statements = (statement for name, statement in imports(reference).items() if name in used - bound)
    return tuple(dict.fromkeys(statements))


def explained(reason: str, reference: str, protocol: str) -> str:
    """A reason that names an undefined name, with what is missing if the reference's text imports that."""
    found = _UNDEFINED.search(reason)
    statement = imports(reference).get(found[1]) if found else None
    if found is None or statement is None:
        return reason
    alone = f"the file must stand alone under {protocol}; add `{statement}` (the reference's text has it)"
    return f"{reason[: found.start()]}NameError: name '{found[1]}' is not defined: {alone}{reason[found.end() :]}"


def _body(text: str) -> list[ast.stmt]:
    try:
        return parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def _defined(body: list[ast.stmt]) -> set[str]:
    """Names that classes, functions and assignments at the top level bind."""
    named = {each.name for each in body if isinstance(each, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)}
    assigned = (each for each in body if isinstance(each, ast.Assign | ast.AnnAssign))
    return named | {
        node.id
        for each in assigned
        for node in ast.walk(each)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }

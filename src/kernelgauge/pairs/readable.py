"""A compiler's file without what it imports and names for nothing."""

from __future__ import annotations

import ast

from kernelgauge.syntax import parse


def readable(source: str) -> str:
    """The text without imports and abbreviations at top level that are repeated or unused; all other lines stay.

    Raises:
        SyntaxError: the text is no Python.
    """
    lines = source.splitlines(keepends=True)
    statements = parse(source).body
    first = {ast.dump(node): node for node in reversed(statements)}
    dropped = {id(node) for node in statements if _bound(node) and first[ast.dump(node)] is not node}
    while True:
        used = _used([node for node in statements if id(node) not in dropped])
        idle = [
            node for node in statements if id(node) not in dropped and (names := _bound(node)) and not names & used
        ]
        if not idle:
            break
        dropped |= {id(node) for node in idle}
    gone = {
        number
        for node in statements
        if id(node) in dropped
        for number in range(node.lineno, (node.end_lineno or 0) + 1)
    }
    kept = [line for number, line in enumerate(lines, 1) if number not in gone]
    return _fewer_blank_lines("".join(kept))


def _used(statements: list[ast.stmt]) -> set[str]:
    return {
        node.id
        for each in statements
        for node in ast.walk(each)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }


def _bound(node: ast.stmt) -> set[str]:
    """What an import or an abbreviation (`aten = torch.ops.aten`) binds; nothing for any other statement."""
    match node:
        case ast.ImportFrom(module="__future__"):
            return set()
        case ast.Import(names=names):
            return {alias.asname or alias.name.partition(".")[0] for alias in names}
        case ast.ImportFrom(names=names):
            return {alias.asname or alias.name for alias in names}
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Attribute()):
            return {name}
    return set()


def _fewer_blank_lines(text: str) -> str:
    while "\n\n\n\n" in text:
        text = text.replace("\n\n\n\n", "\n\n\n")
    return text

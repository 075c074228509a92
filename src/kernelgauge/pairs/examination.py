"""Which modules are worth a pair: far enough from the suite, new, self-contained, and saying something."""

from __future__ import annotations

import ast
from collections.abc import Container

from kernelgauge.errors import ProblemError
from kernelgauge.pairs.module import Module
from kernelgauge.problems.distance import nearest, nearest_forward, structure
from kernelgauge.problems.recipes.drawn import Drawn
from kernelgauge.schema import FORMAT, Record
from kernelgauge.session.session import Session
from kernelgauge.syntax import parse
from kernelgauge.verification.fresh import unsound

SAME = "another module has the same normalised syntax tree"
"""Why a module is refused that would be a duplicate."""


class Examined(Record):
    """What became of a module."""

    format: int = FORMAT
    name: str
    module: Module | None = None
    """None where there was nothing to look at: it could not be made to stand alone, or to run. In a record of what
    was refused it is left out."""
    structure: str = ""
    """Of its normalised syntax tree; empty where it does not parse."""
    refused: str
    """Why no pair is made of it; empty if it is sound."""


def examined(session: Session, module: Module, distance: float, taken: Container[str]) -> Examined:
    """Look at a module, the cheap questions first; nothing is compiled or timed.

    Args:
        distance: the least from every problem of the built-in suite, see `problems.distance`.
        taken: structures of the modules that are in the set already.
    """
    try:
        form = structure(module.source)
        near = min(nearest(module.source), nearest_forward(module.source), key=lambda found: found.distance)
        module = module.model_copy(update={"nearest": near})
    except (SyntaxError, ValueError, RecursionError) as error:
        return Examined(name=module.name, refused=f"it does not parse: {error}")
    return Examined(
        name=module.name, module=module, structure=form, refused=_refused(session, module, form, distance, taken)
    )


def _refused(session: Session, module: Module, form: str, distance: float, taken: Container[str]) -> str:
    if form in taken:
        return SAME
    assert module.nearest is not None
    if module.nearest.distance < distance:
        return f"{module.nearest.distance:.2g} from {module.nearest.label}, nearer than {distance:.2g}"
    if names := unused(module.source):
        return f"{', '.join(names)}: computed and never used"
    return _unsound(session, module) or ""


def unused(source: str) -> list[str]:
    """Names that a `forward` assigns and no function inside or after it reads: branches that lead nowhere."""
    found: dict[str, None] = {}
    for function in (node for node in ast.walk(parse(source)) if isinstance(node, ast.FunctionDef)):
        if function.name != "forward":
            continue
        names = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
        read = {node.id for node in names if isinstance(node.ctx, ast.Load)}
        for statement in ast.walk(function):
            if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
                target = statement.targets[0]
                if isinstance(target, ast.Name) and target.id not in read:
                    found.setdefault(target.id)
    return list(found)


def _unsound(session: Session, module: Module) -> str | None:
    drawn = Drawn(
        name=module.name,
        level=0,
        source=module.source,
        tags=module.tags,
        sizes=module.sizes,
        domains=module.domains,
    )
    try:
        return unsound(session, drawn)
    except ProblemError as error:
        return str(error)

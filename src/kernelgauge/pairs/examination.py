"""Which modules are worth a pair: far enough from the suite, new, self-contained, and saying something."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Container

from kernelgauge.errors import ProblemError
from kernelgauge.pairs.module import Module
from kernelgauge.problems.distance import nearest, nearest_forward, structure
from kernelgauge.problems.recipes.drawn import Drawn
from kernelgauge.schema import FORMAT, Nearest, Record
from kernelgauge.session.session import Session
from kernelgauge.syntax import parse
from kernelgauge.verification.fresh import unsound

SAME = "another module has the same normalised syntax tree"
"""Why a module is refused that would be a duplicate."""


_CONTAINERS = ("Sequential", "ModuleList", "ModuleDict")


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
        module = module.model_copy(update={"nearest": nearest_of(module.source)})
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


def nearest_of(source: str) -> Nearest:
    """The nearest problem of the suite, by the whole text, and by its forward where that says what is computed.

    Raises:
        SyntaxError: the text is no Python.
    """
    found = nearest(source)
    if not _forward_tells(source):
        return found
    return min(found, nearest_forward(source), key=lambda each: each.distance)


def _forward_tells(source: str) -> bool:
    """Whether each attribute that the methods read is a single layer of the library, or no module.

    A forward that calls one `nn.Sequential` is that of 3/1, whatever is in it.
    """
    for owner in (node for node in parse(source).body if isinstance(node, ast.ClassDef)):
        methods = {each.name: each for each in owner.body if isinstance(each, ast.FunctionDef)}
        made = _made(owner)
        for name, method in methods.items():
            called = {id(node.func) for node in ast.walk(method) if isinstance(node, ast.Call)}
            for node in ast.walk(method) if name != "__init__" else ():
                match node:
                    case ast.Attribute(value=ast.Name(id="self"), attr=attribute) if attribute not in methods:
                        value = made.get(attribute)
                        if (value is None and id(node) in called) or (value is not None and not _is_layer(value)):
                            return False
    return True


def _made(owner: ast.ClassDef) -> dict[str, ast.expr]:
    """By attribute of `self`: what it is made by; of several the last."""
    found = {}
    for node in ast.walk(owner):
        match node:
            case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)], value=value):
                found[name] = value
    return found


def _is_layer(value: ast.expr) -> bool:
    """Whether this makes no module, or one layer: a class that is neither a container nor the text's own."""
    if not isinstance(value, ast.Call):
        return isinstance(value, ast.Name | ast.Constant | ast.Attribute | ast.BinOp | ast.UnaryOp | ast.Tuple)
    root: ast.expr = value.func
    while isinstance(root, ast.Attribute):
        root = root.value
    known = isinstance(root, ast.Name) and (root.id in ("torch", "nn", "F") or hasattr(builtins, root.id))
    return known and not ast.unparse(value.func).endswith(_CONTAINERS)


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

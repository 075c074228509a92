"""The reference's text without its forward: what a generated `ModelNew` needs to build the same weights.

Kept are the class `Model` under its new name, its constructor, and whatever of the module those use; gone are
the forward, the input functions, comments, and what only they needed.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from kernelgauge.syntax import parse

PROVIDED = frozenset({"get_inputs", "get_init_inputs"})


class Unwritable(Exception):
    """The compiled reference cannot be written as one self-contained file; the text says why."""


@dataclass(frozen=True)
class Constructor:
    """The kept text, with a gap where the body of `forward` goes."""

    future: str
    """`from __future__` imports, which must open the file."""
    definitions: str
    header: str
    """`class ModelNew(...)`, its constructor and the other methods that stay."""
    signature: str
    """`def forward(self, ...):`, as in the reference."""

    def render(self, body: str) -> str:
        """The text with `body` (unindented lines) in its forward, opening imports first."""
        return "\n".join(part for part in (self.future, self.text(body)) if part)

    def text(self, body: str) -> str:
        """As `render`, without the opening imports."""
        lines = "\n".join(f"        {line}" if line else "" for line in body.splitlines())
        forward = f"    @torch.no_grad()\n    {self.signature}\n{lines}\n"
        gap = "" if self.header.endswith("\n") else "\n\n"
        model = self.header + gap + forward
        return "\n\n\n".join(part for part in (self.definitions, model) if part)


def constructor(source: str, owner: str, names: frozenset[str], prune: bool) -> Constructor:
    """Takes the reference's `source` apart.

    `owner` is the class that defines `forward`, `names` are module-level names that the new forward needs.
    With `prune`, helper classes lose the methods that nothing in the kept text mentions.
    Raises `Unwritable` if `source` does not define `Model` and `owner` as plain top-level classes.
    """
    tree = parse(source)
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    if "Model" not in classes or owner not in classes:
        raise Unwritable("The reference does not define the class Model and its forward at the top of the file.")
    signature = _signature(classes[owner])
    model = classes["Model"]
    _drop(model, "forward")
    _Renamed().visit(tree)
    live = _Live(tree, prune)
    live.close({"ModelNew", "torch", *names} | _mentioned(signature))
    kept = live.kept()
    future = [node for node in kept if _is_future(node)]
    rest = [node for node in kept if node is not model and not _is_future(node)]
    for node in kept:
        if isinstance(node, ast.ClassDef) and not node.body:
            node.body = [ast.Pass()]
    return Constructor(
        future="\n".join(ast.unparse(node) for node in future),
        definitions=_joined(rest),
        header=ast.unparse(ast.fix_missing_locations(model)).removesuffix("    pass"),
        signature=ast.unparse(ast.fix_missing_locations(signature)).splitlines()[0],
    )


def bound_names(tree: ast.Module) -> dict[str, str]:
    """What each top-level name of a module is bound to: the import, or else the kind of node."""
    names: dict[str, str] = {}
    for node in tree.body:
        for name, value in _binds(node).items():
            names[name] = value
    return names


def _signature(owner: ast.ClassDef) -> ast.FunctionDef:
    for node in owner.body:
        if isinstance(node, ast.FunctionDef) and node.name == "forward":
            node.body, node.decorator_list = [ast.Pass()], []
            return node
    raise Unwritable(f"The class {owner.name} has no plain method forward.")


def _drop(owner: ast.ClassDef, method: str) -> None:
    owner.body = [node for node in owner.body if getattr(node, "name", None) != method]


def _joined(nodes: list[ast.stmt]) -> str:
    """One text, with blank lines around classes and functions only."""
    text = ""
    previous_is_block = False
    for node in nodes:
        block = isinstance(node, (ast.ClassDef, ast.FunctionDef))
        gap = "\n\n\n" if block or previous_is_block else "\n"
        text += (gap if text else "") + ast.unparse(node)
        previous_is_block = block
    return text


class _Renamed(ast.NodeTransformer):
    """`Model` becomes `ModelNew` wherever the text names it, in `super(Model, self)` for instance."""

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(id="ModelNew", ctx=node.ctx) if node.id == "Model" else node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        if node.name == "Model":
            node.name = "ModelNew"
        # A docstring describes the forward that is gone.
        if ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
        self.generic_visit(node)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        if ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
        self.generic_visit(node)
        return node


class _Live:
    """The top-level statements that the constructor needs, found by following names until none is new."""

    def __init__(self, tree: ast.Module, prune: bool) -> None:
        self.prune = prune
        self.statements = [node for node in tree.body if not _is_main(node) and not _is_text(node)]
        self.names: set[str] = set()
        self.attributes: set[str] = set()
        self.live: set[int] = set()

    def close(self, names: set[str]) -> None:
        self.names |= names
        size = -1
        while size != len(self.names) + len(self.attributes):
            size = len(self.names) + len(self.attributes)
            for node in self.statements:
                if self._needed(node):
                    self.live.add(id(node))
                    self._follow(node)

    def kept(self) -> list[ast.stmt]:
        kept = [node for node in self.statements if id(node) in self.live]
        for node in kept:
            if isinstance(node, ast.ClassDef):
                node.body = [part for part in node.body if not self._droppable(part)]
        return kept

    def _needed(self, node: ast.stmt) -> bool:
        bound = set(_binds(node))
        if bound & PROVIDED:
            return False
        # A statement that binds nothing may have any effect, a star import may bind anything.
        return not bound or "*" in bound or _is_future(node) or bool(bound & self.names)

    def _follow(self, node: ast.stmt) -> None:
        parts: list[ast.AST] = [node]
        if isinstance(node, ast.ClassDef):
            inside = [part for part in node.body if not self._droppable(part)]
            parts = [*node.bases, *node.keywords, *node.decorator_list, *inside]
        for part in parts:
            self.names |= _mentioned(part)
            self.attributes |= {child.attr for child in ast.walk(part) if isinstance(child, ast.Attribute)}

    def _droppable(self, part: ast.AST) -> bool:
        if not self.prune or not isinstance(part, ast.FunctionDef):
            return False
        return part.name not in self.attributes and not part.name.startswith("__")


def _mentioned(node: ast.AST) -> set[str]:
    return {child.id for child in ast.walk(node) if isinstance(child, ast.Name)}


def _binds(node: ast.stmt) -> dict[str, str]:
    if isinstance(node, ast.Import):
        return {
            alias.asname or alias.name.partition(".")[0]: f"import {alias.name if alias.asname else ''}".strip()
            for alias in node.names
        }
    if isinstance(node, ast.ImportFrom):
        return {alias.asname or alias.name: f"from {node.module} import {alias.name}" for alias in node.names}
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return {node.name: type(node).__name__}
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    if not isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
        return {}
    names = [child.id for target in targets if target for child in ast.walk(target) if isinstance(child, ast.Name)]
    return dict.fromkeys(names, "value")


def _is_main(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and "__name__" in _mentioned(node.test)


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)

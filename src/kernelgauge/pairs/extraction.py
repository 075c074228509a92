"""Modules in a folder of Python files, each made to stand alone: by its syntax tree, nothing is executed.

A class is followed to all that it names: other classes, functions and constants of its file, and of files of the same
folder that it imports from by name. What is left are imports of PyTorch and of the standard library.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from kernelgauge.errors import UsageError
from kernelgauge.problems.own_file import MAX_BYTES
from kernelgauge.syntax import parse

_ALLOWED = (
    "__future__ abc collections copy dataclasses enum functools itertools math numbers operator torch types typing "
    "typing_extensions warnings"
)
ALLOWED = frozenset(_ALLOWED.split())
"""What a module may import."""

_MODULE = ("nn.Module", "torch.nn.Module", "Module")
_SKIPPED = ("test", "tests", "site-packages", "node_modules", "build", "dist")


class NotAlone(Exception):
    """A class cannot be taken out of its file; the text says why."""


@dataclass(frozen=True)
class Found:
    """A class of a folder that is a module of PyTorch."""

    path: str
    """Of its file, below the folder."""
    line: int
    name: str


class Alone(NamedTuple):
    """A class taken out of its folder."""

    text: str
    files: tuple[Path, ...]
    """From which something of the text is, the class's own first."""


@dataclass
class _File:
    """The top level of one file: what its names are bound to."""

    definitions: dict[str, ast.stmt]
    imports: dict[str, tuple[str, int, str | None]]
    """By name: module, level of a relative import, and what is imported from it; None for the module itself."""


class Folder:
    """The Python files of a folder, parsed when they are needed.

    Raises:
        UsageError: there is no such folder.
    """

    def __init__(self, root: Path) -> None:
        if not root.is_dir():
            raise UsageError(f"there is no folder {root} to take modules from")
        self.root = root.resolve()  # `.` has no parents
        self._files: dict[Path, _File | None] = {}

    def modules(self) -> Iterator[Found]:
        """Every class with a `forward` that derives from `nn.Module`, by path and line."""
        for path in sorted(self.root.rglob("*.py")):
            parts = path.relative_to(self.root).parts
            if any(part.startswith(".") or part in _SKIPPED for part in parts) or path.is_symlink():
                continue
            file = self._file(path)
            if file is None:
                continue
            for name, node in file.definitions.items():
                if isinstance(node, ast.ClassDef) and _is_module(node, file) and _forward(node):
                    yield Found("/".join(parts), node.lineno, name)

    def alone(self, found: Found) -> Alone:
        """A text with that class as `Model`, and all that it needs.

        Raises:
            NotAlone: it needs what is neither in the folder nor in `ALLOWED`, or a name means two things.
        """
        taken = _Taken(self)
        own = self.root / found.path
        taken.name(own, found.name)
        if "Model" in taken.definitions and found.name != "Model":
            raise NotAlone("another class is called Model")
        files = dict.fromkeys((own, *(path for path, _ in taken.definitions.values())))
        return Alone(taken.text(found.name), tuple(files))

    def _file(self, path: Path) -> _File | None:
        if path not in self._files:
            self._files[path] = _parsed(path)
        return self._files[path]

    def file(self, path: Path) -> _File:
        """Raises NotAlone if it cannot be read."""
        found = self._file(path)
        if found is None:
            raise NotAlone(f"{path.name} is no Python text")
        return found

    def imported(self, where: Path, module: str, level: int) -> Path | None:
        """The file of this folder that an import means; None for one from elsewhere."""
        parts = module.split(".") if module else []
        if level > len(where.parents):
            return None
        bases = [where.parents[level - 1]] if level else [where.parent, self.root, self.root.parent]
        for base in bases:
            if not base.is_relative_to(self.root.parent):
                continue
            stem = base.joinpath(*parts)
            for path in (stem.with_suffix(".py") if parts else None, stem / "__init__.py"):
                if path is not None and path.is_file() and path.is_relative_to(self.root):
                    return path
        return None


@dataclass
class _Taken:
    """What one class needs, as it is found."""

    folder: Folder
    definitions: dict[str, tuple[Path, ast.stmt]] = field(default_factory=dict)
    """In an order in which each comes after what it needs."""
    imports: dict[str, str] = field(default_factory=dict)
    """By name: what it is imported from, as `torch.nn`, however the files spell that."""
    _under_way: set[tuple[Path, str]] = field(default_factory=set)

    def name(self, path: Path, name: str) -> None:
        """Take what a name means at the top level of a file, and all that this needs."""
        if (path, name) in self._under_way or self._is_there(path, name):
            return
        file = self.folder.file(path)
        if name in file.definitions:
            self._under_way.add((path, name))
            node = file.definitions[name]
            for each in sorted(_needed(node)):
                self.name(path, each)
            self._under_way.discard((path, name))
            if name in self.definitions or name in self.imports:
                raise NotAlone(f"{name} means two things in the files that it needs")
            self.definitions[name] = (path, node)
        elif name in file.imports:
            self._import(path, name, *file.imports[name])
        elif not hasattr(builtins, name):
            raise NotAlone(f"{name} is not defined at the top level of {path.name}")

    def _is_there(self, path: Path, name: str) -> bool:
        return name in self.definitions and self.definitions[name][0] == path

    def _import(self, path: Path, name: str, module: str, level: int, item: str | None) -> None:
        if level == 0 and module.partition(".")[0] in ALLOWED:
            self._bind(name, f"{module}.{item}" if item else module)
            return
        target = self.folder.imported(path, module, level)
        if target is None:
            raise NotAlone(f"it imports {'.' * level}{module}, which is not here")
        if item is None or item != name:
            raise NotAlone(f"it imports {module} of its own folder under another name, or as a whole")
        self.name(target, item)

    def _bind(self, name: str, meant: str) -> None:
        if self.imports.setdefault(name, meant) != meant or name in self.definitions:
            raise NotAlone(f"{name} means two things in the files that it needs")

    def text(self, model: str) -> str:
        """All of it as one file, in which the class is called `Model`."""
        imports = dict.fromkeys(("import torch", *(_spelled(*each) for each in self.imports.items())))
        future = [line for line in imports if line.startswith("from __future__")]
        first = [*future, *(line for line in imports if line not in future)]
        blocks = ["\n".join(first)]
        for _, node in self.definitions.values():
            tree = ast.parse(ast.unparse(node))
            _Renamed(model).visit(tree)
            block = ast.unparse(ast.fix_missing_locations(tree))
            apart = isinstance(node, ast.ClassDef | ast.FunctionDef)
            blocks.append(("\n\n" if apart else "") + block)
        return "\n".join(blocks) + "\n"


class _Renamed(ast.NodeTransformer):
    def __init__(self, model: str) -> None:
        self._model = model

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name("Model", node.ctx) if node.id == self._model else node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        if node.name == self._model:
            node.name = "Model"
        self.generic_visit(node)
        return node


def _parsed(path: Path) -> _File | None:
    try:
        if path.stat().st_size > MAX_BYTES:
            return None
        tree = parse(path.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    found = _File({}, {})
    for node in tree.body:
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                found.definitions[name] = node
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()):
                found.definitions[name] = node
            case ast.Import(names=names):
                for alias in names:
                    bound = alias.asname or alias.name.partition(".")[0]
                    found.imports[bound] = (alias.name if alias.asname else bound, 0, None)
            case ast.ImportFrom(module=module, names=names, level=level):
                for alias in names:
                    found.imports[alias.asname or alias.name] = (module or "", level, alias.name)
    return found


def _is_module(node: ast.ClassDef, file: _File, depth: int = 0) -> bool:
    for base in node.bases:
        if ast.unparse(base) in _MODULE:
            return True
        parent = file.definitions.get(base.id) if isinstance(base, ast.Name) else None
        if isinstance(parent, ast.ClassDef) and depth < 8 and _is_module(parent, file, depth + 1):
            return True
    return False


def _forward(node: ast.ClassDef) -> bool:
    """Whether it has one of its own; one that is inherited belongs to another module."""
    return any(isinstance(each, ast.FunctionDef) and each.name == "forward" for each in node.body)


def _needed(node: ast.stmt) -> set[str]:
    """Names that a definition reads and does not bind itself."""
    read: set[str] = set()
    bound: set[str] = set()
    for each in ast.walk(node):
        match each:
            case ast.Name(id=name, ctx=ast.Load()):
                read.add(name)
            case ast.Name(id=name):
                bound.add(name)
            case ast.arg(arg=name) | ast.ExceptHandler(name=str(name)):
                bound.add(name)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) if each is not node:
                bound.add(name)
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                bound |= {alias.asname or alias.name.partition(".")[0] for alias in names}
    own = {node.name} if isinstance(node, ast.ClassDef | ast.FunctionDef) else set()
    if isinstance(node, ast.Assign | ast.AnnAssign):
        bound = set()
    return read - bound - own


def _spelled(name: str, meant: str) -> str:
    module, _, item = meant.rpartition(".")
    if not module:
        return f"import {meant}" if meant == name else f"import {meant} as {name}"
    return f"from {module} import {item}" if item == name else f"from {module} import {item} as {name}"

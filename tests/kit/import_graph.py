"""Who imports whom in the package, read from its text: nothing is imported for it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import kernelgauge

ROOT = Path(kernelgauge.__file__).parent
DATA = ("problems/level", "backends/examples", "selftest/specimens/", "expert/candidates", "expert/parts")


def modules() -> dict[str, Path]:
    """Every module by its dotted name below `kernelgauge`, without programs that are data."""
    paths = (path.relative_to(ROOT) for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")
    ours = [path for path in paths if not path.as_posix().startswith(DATA)]
    return {".".join(path.with_suffix("").parts).removesuffix(".__init__"): ROOT / path for path in ours}


MODULES = modules()


def _only_for_types(tree: ast.Module) -> set[ast.AST]:
    return {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }


@cache
def imported(name: str, types: bool = True) -> frozenset[str]:
    """Modules of ours that one imports, at any depth of its code; with or without those it names in types alone."""
    tree = ast.parse(MODULES[name].read_text())
    left_out: set[ast.AST] = set() if types else _only_for_types(tree)
    return frozenset(module for node in ast.walk(tree) if node not in left_out for module in _named_by(node))


def _named_by(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        names = [alias.name.removeprefix("kernelgauge.") for alias in node.names]
        yield from (each for each in names if each in MODULES)
    elif isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "kernelgauge":
        package = node.module.removeprefix("kernelgauge").removeprefix(".")
        for alias in node.names:
            module = f"{package}.{alias.name}".removeprefix(".")
            if module in MODULES or package in MODULES:
                yield module if module in MODULES else package


def reachable(module: str) -> set[str]:
    """All our modules that importing one imports, directly or not."""
    seen: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting.extend(imported(name))
    return seen


def parts(module: str, *rooms: str) -> tuple[str, ...]:
    """The files in these rooms that one module is made of, by their paths in the package: for a mark `proof` that is
    about no more of a room."""
    files = (MODULES[name].relative_to(ROOT) for name in reachable(module))
    return tuple(sorted(path.as_posix() for path in files if path.parts[0] in rooms))


def program(*names: str) -> tuple[str, ...]:
    """The files of `benchmarks/` that programs there are made of, by their paths in the repository."""
    folder = ROOT.parents[1] / "benchmarks"
    seen: set[Path] = set()
    waiting = [folder / name for name in names]
    while waiting:
        path = waiting.pop()
        if path not in seen:
            seen.add(path)
            found = (folder / f"{name.replace('.', '/')}.py" for name in _modules(ast.parse(path.read_text())))
            waiting.extend(each for each in found if each.is_file())
    return tuple(sorted(path.relative_to(folder.parent).as_posix() for path in seen))


def _modules(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module

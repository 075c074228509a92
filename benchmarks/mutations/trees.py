"""Syntax trees of candidates: what may be changed in them, and changing it in a copy."""

from __future__ import annotations

import ast
import copy
import inspect
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

Node = TypeVar("Node", bound=ast.AST)

_SETUP = ("get_inputs", "get_init_inputs")


def expression(text: str, **parts: ast.expr) -> ast.expr:
    """An expression from text, with nodes in the place of names: `expression("f(x)", x=node)`."""
    tree = ast.parse(text, mode="eval").body
    return Substitution(parts).visit(tree)


class Substitution(ast.NodeTransformer):
    """Puts copies of nodes in the place of names that are read."""

    def __init__(self, parts: dict[str, ast.expr]):
        self._parts = parts

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return copy.deepcopy(self._parts[node.id]) if node.id in self._parts else node


def dotted(node: ast.AST) -> str:
    """`torch.nn.functional.relu` for such an attribute; empty for anything but names and dots."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (before := dotted(node.value)):
        return f"{before}.{node.attr}"
    return ""


@dataclass(frozen=True)
class Edit:
    """One change: a node of a candidate's tree, what takes its place, and what that needs beside it."""

    target: ast.AST
    replacement: ast.AST
    what: str
    """The change in a few words, with the text before and after it where they are short."""
    needs: tuple[Callable[..., Any], ...] = ()
    """Functions whose text the changed candidate must contain."""


class CandidateTree:
    """A candidate's text as a tree, with the parts of it that compute."""

    def __init__(self, source: str):
        self.tree = ast.parse(source)
        self.parameters = _parameter_names(self.tree)
        """Attributes of `self` that hold an `nn.Parameter`."""

    def functions(self) -> Iterator[ast.FunctionDef]:
        """Free functions and all methods but constructors."""
        for node in self.tree.body:
            if isinstance(node, ast.FunctionDef) and node.name not in _SETUP:
                yield node
            if isinstance(node, ast.ClassDef):
                yield from (
                    method for method in node.body if isinstance(method, ast.FunctionDef) and not _constructs(method)
                )

    def nodes(self, kind: type[Node]) -> Iterator[Node]:
        """Nodes of a kind in the bodies of all functions; no defaults, no annotations, no docstrings."""
        for function in self.functions():
            for statement in function.body:
                if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                    continue
                yield from (node for node in ast.walk(statement) if isinstance(node, kind))

    def calls(self, *names: str) -> Iterator[ast.Call]:
        """Calls of functions by their dotted names."""
        return (node for node in self.nodes(ast.Call) if dotted(node.func) in names)

    def results(self) -> Iterator[ast.Return]:
        """What `ModelNew.forward` returns."""
        for node in self.tree.body:
            if isinstance(node, ast.ClassDef) and node.name == "ModelNew":
                for method in node.body:
                    if isinstance(method, ast.FunctionDef) and method.name == "forward":
                        yield from (n for n in ast.walk(method) if isinstance(n, ast.Return) and n.value)

    def changed(self, edit: Edit) -> str:
        """The text after one edit."""
        memo: dict[int, Any] = {}
        tree = copy.deepcopy(self.tree, memo)
        changed = _Replacement(memo[id(edit.target)], copy.deepcopy(edit.replacement)).visit(tree)
        return with_functions(changed, edit.needs)


def with_functions(tree: ast.Module, needed: Sequence[Callable[..., Any]]) -> str:
    """A tree as text, with the functions it needs, and those that they need, before its first class."""
    there = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    added: dict[str, str] = {}
    for function in needed:
        _collect(function, added)
    texts = [ast.parse(text).body[0] for name, text in added.items() if name not in there]
    first = next(i for i, node in enumerate(tree.body) if isinstance(node, ast.ClassDef | ast.FunctionDef))
    tree.body[first:first] = texts
    imported = {alias.asname or alias.name for n in tree.body if isinstance(n, ast.Import) for alias in n.names}
    for line, name in (
        ("import torch.nn.functional as F", "F"),
        ("import math", "math"),
        ("import itertools", "itertools"),
    ):
        if name not in imported and any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(tree)):
            tree.body.insert(0, ast.parse(line).body[0])
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def _collect(function: Callable[..., Any], texts: dict[str, str]) -> None:
    """The text of a function after those of its own module that it calls."""
    if function.__name__ in texts:
        return
    own = inspect.getmodule(function)
    text = textwrap.dedent(inspect.getsource(function))
    for node in ast.walk(ast.parse(text)):
        called = getattr(own, node.id, None) if isinstance(node, ast.Name) else None
        if inspect.isfunction(called) and called is not function:
            _collect(called, texts)
    texts[function.__name__] = text


class _Replacement(ast.NodeTransformer):
    def __init__(self, target: ast.AST, replacement: ast.AST):
        self._target, self._replacement = target, replacement

    def visit(self, node: ast.AST) -> Any:
        return self._replacement if node is self._target else self.generic_visit(node)


def _constructs(method: ast.FunctionDef) -> bool:
    """Constructors, and methods that make layers: what they draw must stay as it is."""
    return method.name.startswith("__") or any(dotted(n).startswith("nn.") for n in ast.walk(method))


def _parameter_names(tree: ast.Module) -> set[str]:
    return {
        target.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
        for target in node.targets
        if isinstance(target, ast.Attribute) and dotted(node.value.func) in ("nn.Parameter", "torch.nn.Parameter")
    }

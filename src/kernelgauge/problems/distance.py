"""How near a problem is to others, by what its text computes: pq-grams of a normalised syntax tree.

`distance = 1 - 2 |P & Q| / (|P| + |Q|)`, where P and Q are the bags of pq-grams of two trees and `&` takes the common
ones, each as often as in both (N. Augsten, M. Böhlen, J. Gamper, Approximate Matching of Hierarchical Data Using
pq-Grams, VLDB 2005; p = 2, q = 3 as there). 0 means the same tree up to what is left out, 1 nothing in common.

Left out are docstrings, annotations, imports, constants, sizes (`get_inputs`, `get_init_inputs`), and all names that
the text itself gives. What stays are the names of the library, however they are reached: `torch.relu(x)`,
`F.relu(x)`, `x.relu()` and a layer `nn.ReLU()` are one label, and `a + b` is `torch.add(a, b)`.
"""

from __future__ import annotations

import ast
import builtins
from collections import Counter
from collections.abc import Mapping
from functools import cache

from kernelgauge.problems.catalogue import entry, suite_named
from kernelgauge.schema import Nearest, digest
from kernelgauge.syntax import parse

_Q = 3
_NONE = "*"
_OWN = "·"
_SIZES = ("get_inputs", "get_init_inputs")
_LIBRARY = ("torch", "nn", "F")
_OPERATORS: dict[type[ast.AST], str] = {
    **{ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.MatMult: "matmul", ast.Pow: "pow"},
    **{ast.USub: "neg", ast.Gt: "gt", ast.GtE: "ge", ast.Lt: "lt", ast.LtE: "le", ast.Eq: "eq", ast.NotEq: "ne"},
}

Grams = Counter[tuple[str, ...]]
"""The bag of pq-grams of a text: the labels of a node's parent, of the node, and of `_Q` children in a row."""


def distance(one: str, other: str) -> float:
    """How far two problems' texts are from each other, from 0 to 1; symmetric.

    Raises:
        SyntaxError: a text is no Python.
    """
    return _distance(grams(one), grams(other))


def nearest(source: str) -> Nearest:
    """The problem of the built-in suite that is the nearest to a text; of several the first.

    Raises:
        SyntaxError: the text is no Python.
    """
    here = grams(source)
    far, key = min(((_distance(here, there), key) for key, there in _built_in().items()), key=lambda each: each[0])
    return Nearest(problem=key, name=entry(key).name, distance=round(far, 4))


def nearest_forward(source: str) -> Nearest:
    """As `nearest`, by what `forward` and its helpers say alone, constructors left out on both sides.

    A layer by itself has little more than a constructor, which hides that a problem is the same layer.

    Raises:
        SyntaxError: the text is no Python.
    """
    here = grams(source, constructors=False)
    far, key = min(((_distance(here, there), key) for key, there in _forwards().items()), key=lambda each: each[0])
    return Nearest(problem=key, name=entry(key).name, distance=round(far, 4))


def structure(source: str) -> str:
    """A digest of a text's normalised tree: equal for problems that differ in sizes and names alone.

    Raises:
        SyntaxError: the text is no Python.
    """
    return digest(repr(sorted(grams(source).items())))


def grams(source: str, constructors: bool = True) -> Grams:
    """The pq-grams of what a text computes.

    Args:
        constructors: whether what `__init__` does counts; what it makes of an attribute is known in any case.

    Raises:
        SyntaxError: the text is no Python.
    """
    found: Grams = Counter()
    waiting = [(_NONE, _normalised(parse(source), constructors))]
    while waiting:
        parent, (label, below) = waiting.pop()
        names = [_NONE] * (_Q - 1) + [name for name, _ in below] + [_NONE] * (_Q - 1) if below else [_NONE] * _Q
        found.update((parent, label, *names[at : at + _Q]) for at in range(len(names) - _Q + 1))
        waiting += [(label, child) for child in below]
    return found


def _distance(one: Grams, other: Grams) -> float:
    return 1 - 2 * (one & other).total() / (one.total() + other.total())


@cache
def _built_in() -> dict[str, Grams]:
    entries = suite_named().entries
    return {key: grams(found.path.read_text(encoding="utf-8")) for key, found in entries.items()}


@cache
def _forwards() -> dict[str, Grams]:
    entries = suite_named().entries
    return {key: grams(found.path.read_text(encoding="utf-8"), False) for key, found in entries.items()}


_Tree = tuple[str, list["_Tree"]]


def _normalised(file: ast.Module, constructors: bool) -> _Tree:
    defined = [each for each in file.body if isinstance(each, ast.ClassDef | ast.FunctionDef)]
    kept = [each for each in defined if each.name not in _SIZES]
    trees = [_class(each, constructors) if isinstance(each, ast.ClassDef) else _of(each, {}) for each in kept]
    return "file", trees


def _class(node: ast.ClassDef, constructors: bool) -> _Tree:
    layers = _layers(node)
    methods = [each for each in node.body if isinstance(each, ast.FunctionDef)]
    kept = [each for each in methods if constructors or each.name != "__init__"]
    return "class", [_of(each, layers) for each in kept]


def _of(node: ast.AST, layers: Mapping[str, str]) -> _Tree:
    """The tree of a node; `layers` says which class of the library each attribute of `self` is made of."""
    match node:
        case ast.ClassDef():
            return _class(node, constructors=True)
        case ast.FunctionDef():
            return "function", [_of(each, layers) for each in node.body if not _says_nothing(each)]
        case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value):
            return "assign", [_of(value, layers)]
        case ast.AugAssign(target=left, op=op, value=right):
            return "assign", [(_operator(op), [_of(left, layers), _of(right, layers)])]
        case ast.Call():
            return _called(node, layers)
        case ast.keyword(arg=name, value=value):
            return f"{name}=", [_of(value, layers)]
        case ast.BinOp(left=left, op=op, right=right) | ast.Compare(left=left, ops=[op], comparators=[right]):
            return _operator(op), [_of(left, layers), _of(right, layers)]
        case ast.Constant() | ast.UnaryOp(operand=ast.Constant()):
            return "constant", []
        case ast.UnaryOp(op=op, operand=value):
            return _operator(op), [_of(value, layers)]
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            return layers.get(name, _OWN), []
        case ast.Attribute(value=value, attr=name):
            return _word(name), [] if _is_library(value) else [_of(value, layers)]
        case ast.Name():
            return _OWN, []
    inner = [each for each in ast.iter_child_nodes(node) if not isinstance(each, ast.expr_context | ast.arguments)]
    return type(node).__name__, [_of(each, layers) for each in inner]


def _called(node: ast.Call, layers: Mapping[str, str]) -> _Tree:
    """A call is its function's name over its arguments, of which what a method is called on is the first."""
    given = [_of(each, layers) for each in (*node.args, *node.keywords)]
    match node.func:
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            return layers.get(name, _OWN), given
        case ast.Attribute(value=value, attr=name):
            return _word(name), given if _is_library(value) else [_of(value, layers), *given]
        case ast.Name(id=name):
            return name if hasattr(builtins, name) else _OWN, given
    return "call", [_of(node.func, layers), *given]


def _layers(owner: ast.ClassDef) -> dict[str, str]:
    found = {}
    for node in ast.walk(owner):
        match node:
            case ast.Assign(
                targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)],
                value=ast.Call(func=ast.Attribute(value=value, attr=kind)),
            ) if _is_library(value):
                found[name] = _word(kind)
    return found


def _says_nothing(statement: ast.stmt) -> bool:
    """A docstring, and the call of the constructor above."""
    match statement:
        case (
            ast.Expr(value=ast.Constant())
            | ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name(id="super")))))
        ):
            return True
    return False


def _operator(node: ast.AST) -> str:
    return _OPERATORS.get(type(node), type(node).__name__)


def _is_library(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and node.id in _LIBRARY


def _word(name: str) -> str:
    return name.replace("_", "").lower()

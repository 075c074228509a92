"""Twins of existing problems: other sizes, and the same computation written differently.

A model that knows the published problem by heart does worse on its twin; one that understands it does not. Both the
rewriting and the sizes are proposals: whoever calls runs them and takes the first that holds.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Mapping
from itertools import pairwise

from kernelgauge.errors import ProblemError
from kernelgauge.problems.recipes.drawn import Drawn
from kernelgauge.problems.sizes import Constant, plain_constants, with_constants
from kernelgauge.schema import Problem, Sizes
from kernelgauge.syntax import parse

_HAVE_METHODS = (
    "abs amax amin argmax argmin clamp cumprod cumsum exp flatten flip log_softmax logsumexp matmul mean norm "
    "permute prod relu reshape sigmoid softmax sqrt square std sum tanh transpose tril triu unsqueeze var"
)
_AS_METHODS = frozenset(_HAVE_METHODS.split())
_OPERATORS: dict[type[ast.operator], str] = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div"}

_TRIES = 100
"""Small sizes change in steps that may round back to what they were."""

_DEFINITIONS = (ast.ClassDef, ast.FunctionDef)

REWRITINGS = ("everything", "calls and operators", "calls")
"""How far a reference is rewritten, boldest first: names of attributes too, operators as calls, calls as methods."""


def rewritten(source: str, how: str) -> str:
    """The same computation in other words; names of parameters change only under `everything`.

    Whether it still is the same computation must be tried: a rewriting may not fit every reference.
    """
    tree = parse(source)
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            renamed = _attributes(node) if how == "everything" else {}
            _Rewriter(renamed, operators=how != "calls").visit(node)
    blocks = [ast.unparse(ast.fix_missing_locations(node)) for node in tree.body]
    text = blocks[0]
    for (before, node), block in zip(pairwise(tree.body), blocks[1:], strict=True):
        apart = isinstance(before, _DEFINITIONS) or isinstance(node, _DEFINITIONS)
        text += ("\n\n\n" if apart else "\n") + block
    return text + "\n"


def _attributes(owner: ast.ClassDef) -> dict[str, str]:
    """New names for what the constructor assigns to `self`, in order."""
    assigned: dict[str, None] = {}
    for node in ast.walk(owner):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and _is_self(node.value):
            assigned.setdefault(node.attr)
    return {name: f"stage_{place}" for place, name in enumerate(assigned, 1)}


def _is_self(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


class _Rewriter(ast.NodeTransformer):
    def __init__(self, attributes: Mapping[str, str], operators: bool):
        self._attributes = attributes
        self._operators = operators
        self._in_forward = False

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        before, self._in_forward = self._in_forward, node.name == "forward"
        self.generic_visit(node)
        self._in_forward = before
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if _is_self(node.value):
            node.attr = self._attributes.get(node.attr, node.attr)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        match node.func:
            case ast.Attribute(value=ast.Name(id="torch" | "F"), attr=name) if name in _AS_METHODS and node.args:
                if name == "relu":
                    node.func = ast.Attribute(node.args[0], "clamp", ast.Load())
                    node.args, node.keywords = [], [ast.keyword("min", ast.Constant(0))]
                else:
                    node.func, node.args = ast.Attribute(node.args[0], name, ast.Load()), node.args[1:]
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if not (self._operators and self._in_forward) or not isinstance(node.left, ast.Name):
            return node
        if isinstance(node.op, ast.MatMult):
            return ast.Call(_torch("matmul"), [node.left, node.right], [])
        name = _OPERATORS.get(type(node.op))
        return ast.Call(_torch(name), [node.left, node.right], []) if name else node


def _torch(name: str) -> ast.Attribute:
    return ast.Attribute(ast.Name("torch", ast.Load()), name, ast.Load())


def draw(
    problem: Problem, text: str, sizes: Mapping[Sizes, Mapping[str, Constant]], seed: int, attempt: int
) -> Drawn:
    """`text` with other full and medium sizes; the reduced ones stay.

    Args:
        problem: the original, at full size.
        text: its reference, rewritten.
        sizes: the original's reduced constants: a constant that some size changes may be changed here too.

    Raises ProblemError if no constant can be changed.
    """
    generator = random.Random(f"twin {problem.key} {seed} {attempt}")
    full = plain_constants(text)
    changing = {name: full[name] for values in sizes.values() for name in values if name in full}
    new = changing
    for _ in range(_TRIES):
        new = _changed(changing, sizes, generator)
        if new != changing:
            break
    else:
        raise ProblemError(f"problem {problem.key} has no constant that a twin could change")
    medium = _changed({**changing, **sizes.get("medium", {})}, sizes, generator)
    new_sizes: dict[Sizes, dict[str, Constant]] = {size: {**changing, **values} for size, values in sizes.items()}
    new_sizes["medium"] = medium
    return Drawn(
        name=f"twin_of_{problem.name}",
        level=problem.level or 0,
        source=with_constants(text, new),
        tags=problem.tags,
        sizes=new_sizes,
        domains=dict(problem.domains),
        parameters=problem.parameters,
        twin_of=problem.key,
    )


def _changed(
    values: Mapping[str, Constant], sizes: Mapping[Sizes, Mapping[str, Constant]], generator: random.Random
) -> dict[str, Constant]:
    """Each whole number made larger or smaller; those that are equal at every size change alike."""
    factors: dict[tuple[object, ...], float] = {}
    changed: dict[str, Constant] = {}
    for name, value in values.items():
        alike = (str(value), *(str(each.get(name)) for each in sizes.values()))
        if alike not in factors:
            factors[alike] = generator.choice([0.5, 0.625, 0.75, 1.25, 1.5])
        changed[name] = _scaled(value, factors[alike])
    return changed


def _scaled(value: Constant, factor: float) -> Constant:
    if isinstance(value, list):
        return [int(_scaled(each, factor)) for each in value]  # type: ignore[arg-type]
    if isinstance(value, bool | float) or value < 4:
        return value
    step = next(step for step in (32, 16, 8, 4, 2, 1) if value % step == 0)
    return max(step, round(value * factor / step) * step)

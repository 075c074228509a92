"""Faults of arithmetic between tensors: operands, signs, steps left out."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..trees import CandidateTree, Edit, dotted, expression
from . import operator

_INDICES = ("shape", "size", "padding", "stride", "dilation", "kernel", "reach", "start", "sides", "extents", "dim")
_COUNTERS = {"i", "each", "step", "count", "size", "at"}


def _computes(node: ast.BinOp) -> bool:
    """Whether this is arithmetic on values, as far as names tell: not on sizes and indices."""
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    attributes = {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}
    counted = bool(names & _COUNTERS) or any(each in name for name in names | attributes for each in _INDICES)
    return not counted and bool(names) and not isinstance(node.left, ast.List)


@operator
def swapped_operands(tree: CandidateTree) -> Iterator[Edit]:
    """A difference, a quotient or a product of matrices is taken the other way round."""
    for node in tree.nodes(ast.BinOp):
        if isinstance(node.op, ast.Sub | ast.Div) and _computes(node):
            yield Edit(node, ast.BinOp(node.right, node.op, node.left), f"{ast.unparse(node)[:60]} the other way")
    for call in tree.calls("torch.matmul", "torch.bmm", "matmul_split", "matmul_tiles", "matmul_halves"):
        if len(call.args) == 2:
            edited = ast.Call(call.func, call.args[::-1], call.keywords)
            yield Edit(call, edited, f"{dotted(call.func)} the other way")


@operator
def wrong_operator(tree: CandidateTree) -> Iterator[Edit]:
    """A sum is a difference, a product a quotient."""
    other: dict[type[ast.operator], ast.operator] = {
        ast.Add: ast.Sub(),
        ast.Sub: ast.Add(),
        ast.Mult: ast.Div(),
        ast.Div: ast.Mult(),
    }
    for node in tree.nodes(ast.BinOp):
        if type(node.op) in other and _computes(node):
            edited = ast.BinOp(node.left, other[type(node.op)], node.right)
            yield Edit(node, edited, f"{ast.unparse(node)[:60]} -> {ast.unparse(edited)[:60]}")


@operator
def dropped_operand(tree: CandidateTree) -> Iterator[Edit]:
    """A summand, a residual or a factor is left out."""
    for node in tree.nodes(ast.BinOp):
        if _computes(node) and not isinstance(node.right, ast.Constant):
            yield Edit(node, node.left, f"{ast.unparse(node)[:60]} -> {ast.unparse(node.left)[:60]}")


@operator
def dropped_step(tree: CandidateTree) -> Iterator[Edit]:
    """A step that changes a tensor without changing its shape is left out."""
    for node in tree.nodes(ast.Assign):
        target = dotted(node.targets[0])
        if isinstance(node.value, ast.Call) and node.value.args and target and dotted(node.value.args[0]) == target:
            yield Edit(node.value, node.value.args[0], f"without {dotted(node.value.func)}")


@operator
def repeated_step(tree: CandidateTree) -> Iterator[Edit]:
    """A pointwise step is done twice."""
    for node in tree.nodes(ast.Assign):
        target = dotted(node.targets[0])
        call = node.value
        if isinstance(call, ast.Call) and len(call.args) == 1 and target and dotted(call.args[0]) == target:
            twice = ast.Call(call.func, [call], call.keywords)
            yield Edit(call, twice, f"{dotted(call.func)} twice")


@operator
def absolute_value(tree: CandidateTree) -> Iterator[Edit]:
    """The input loses its signs: the first thing that reads it takes its absolute value."""
    forward = next(function for function in tree.functions() if function.name == "forward")
    first = forward.args.args[1].arg
    for node in ast.walk(forward):
        if isinstance(node, ast.Call) and node.args and dotted(node.args[0]) == first:
            yield Edit(
                node.args[0], expression("torch.abs(x)", x=node.args[0]), f"|{first}| into {dotted(node.func)}"
            )

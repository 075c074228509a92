"""Faults in numbers that stand in the text, or that the constructor has kept."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..trees import CandidateTree, Edit, dotted, expression
from . import operator

_LARGEST_EPSILON = 1e-2
_FACTORS = (100.0, 0.1, 0.0)


def _floats(tree: CandidateTree) -> Iterator[ast.Constant]:
    return (node for node in tree.nodes(ast.Constant) if isinstance(node.value, float))


@operator
def wrong_epsilon(tree: CandidateTree) -> Iterator[Edit]:
    """The epsilon of a normalisation is a hundred times too large, ten times too small, or missing."""
    for node in tree.nodes(ast.Attribute):
        if node.attr == "eps":
            for factor in _FACTORS:
                yield Edit(node, expression(f"e * {factor}", e=node), f"eps * {factor:g}")
    for constant in _floats(tree):
        if 0 < constant.value < _LARGEST_EPSILON:
            for factor in _FACTORS:
                yield Edit(constant, ast.Constant(constant.value * factor), f"{constant.value} * {factor:g}")


@operator
def truncated_constant(tree: CandidateTree) -> Iterator[Edit]:
    """A constant is written with three significant digits."""
    for constant in _floats(tree):
        cut = float(f"{constant.value:.2e}")
        if cut != constant.value:
            yield Edit(constant, ast.Constant(cut), f"{constant.value} -> {cut}")


@operator
def wrong_constant(tree: CandidateTree) -> Iterator[Edit]:
    """A factor, a slope or a bound is one per cent off, or one more."""
    for constant in _floats(tree):
        if constant.value not in (0.0, float("inf")):
            yield Edit(constant, ast.Constant(constant.value * 1.01), f"{constant.value} * 1.01")
    for node in tree.nodes(ast.BinOp):
        if isinstance(node.op, ast.Mult | ast.Div | ast.Add) and isinstance(node.right, ast.Constant):
            value = node.right.value
            if isinstance(value, int) and not isinstance(value, bool) and dotted(node.left) != "start":
                yield Edit(node.right, ast.Constant(value + 1), f"{value} -> {value + 1} in {ast.unparse(node)[:60]}")


@operator
def dropped_scale(tree: CandidateTree) -> Iterator[Edit]:
    """A factor, a divisor or a summand that the constructor was given is left out."""
    for node in tree.nodes(ast.BinOp):
        for kept, gone in ((node.left, node.right), (node.right, node.left)):
            name = dotted(gone).removeprefix("self.")
            if dotted(gone).startswith("self.") and "." not in name and name not in tree.parameters:
                yield Edit(node, kept, f"without self.{name}")


@operator
def wrong_setting(tree: CandidateTree) -> Iterator[Edit]:
    """A number that a layer was given is half as large again."""
    settings = ("negative_slope", "min_val", "max_val", "clamp_min", "clamp_max", "min_value", "alpha", "p")
    for node in tree.nodes(ast.Attribute):
        if node.attr in settings and dotted(node).startswith("self."):
            yield Edit(node, expression("s * 1.5", s=node), f"{dotted(node)} * 1.5")

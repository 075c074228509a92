"""Faults in what a kernel does with its parameters and its mode."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..trees import CandidateTree, Edit, dotted, expression
from . import operator

PRODUCTS = ("F.linear", *(f"F.conv{n}d" for n in (1, 2, 3)), *(f"F.conv_transpose{n}d" for n in (1, 2, 3)))
OWN_PRODUCTS = (
    "linear_split",
    "linear_addmm",
    "linear_transposed",
    "convolve_by_taps",
    "convolve_im2col",
    "convolve_halves",
    "scatter_by_taps",
    "gather_flipped",
)
_NORMS = ("F.batch_norm", "F.group_norm", "F.layer_norm")
_OWN_NORMS = ("batch_norm_", "group_norm_", "layer_norm_")


def _is_norm(call: ast.Call) -> bool:
    name = dotted(call.func)
    return name in _NORMS or name.startswith(_OWN_NORMS)


def _parameter(node: ast.expr, tree: CandidateTree) -> str:
    """The name of the parameter of the model that an expression is, perhaps reshaped; empty if it is none."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        node = node.func.value
    name = dotted(node).removeprefix("self.")
    return name if name in tree.parameters else ""


@operator
def drop_bias(tree: CandidateTree) -> Iterator[Edit]:
    """The bias of a product, a convolution or a sum is left out."""
    for call in tree.calls(*PRODUCTS, *OWN_PRODUCTS):
        if len(call.args) > 2 and dotted(call.args[2]):
            yield Edit(call.args[2], ast.Constant(None), f"{dotted(call.args[2])} -> None")
    for node in tree.nodes(ast.BinOp):
        if isinstance(node.op, ast.Add | ast.Sub):
            if name := _parameter(node.right, tree):
                yield Edit(node, node.left, f"without {name}")
            elif name := _parameter(node.left, tree):
                yield Edit(node, node.right, f"without {name}")


@operator
def ignored_parameter(tree: CandidateTree) -> Iterator[Edit]:
    """A gain is taken for one, a shift for zero, as they are when a model is constructed."""
    for call in (node for node in tree.nodes(ast.Call) if _is_norm(node)):
        for argument in call.args:
            name = dotted(argument)
            if name.endswith(".weight"):
                yield Edit(argument, expression("torch.ones_like(p)", p=argument), f"{name} -> ones")
            if name.endswith(".bias"):
                yield Edit(argument, expression("torch.zeros_like(p)", p=argument), f"{name} -> zeros")
    for node in tree.nodes(ast.BinOp):
        if isinstance(node.op, ast.Mult | ast.Div):
            if name := _parameter(node.right, tree):
                yield Edit(node, node.left, f"without {name}")
            elif name := _parameter(node.left, tree):
                yield Edit(node, node.right, f"without {name}")


@operator
def evaluation_mode(tree: CandidateTree) -> Iterator[Edit]:
    """A batch normalisation uses its running statistics."""
    for call in (node for node in tree.nodes(ast.Call) if "batch_norm" in dotted(node.func)):
        for argument in call.args:
            if dotted(argument).endswith(".training"):
                yield Edit(argument, ast.Constant(False), f"{dotted(argument)} -> False")


@operator
def dropped_dropout(tree: CandidateTree) -> Iterator[Edit]:
    """A dropout is left out."""
    for call in tree.calls("F.dropout"):
        yield Edit(call, call.args[0], "without dropout")


@operator
def shared_parameter(tree: CandidateTree) -> Iterator[Edit]:
    """The first element of a parameter is used for all channels."""
    for call in tree.nodes(ast.Call):
        for argument in call.args:
            if dotted(argument).startswith("self.") and dotted(argument).endswith((".weight", ".bias")):
                edited = expression("p[:1].expand_as(p)", p=argument)
                yield Edit(argument, edited, f"{dotted(argument)}[:1] for all")

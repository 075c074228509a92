"""Faults in pointwise functions: another one, or a bound that is missing."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..trees import CandidateTree, Edit, dotted, expression
from . import operator

_OTHER = {
    "F.gelu": ("x * torch.sigmoid(1.702 * x)", "F.silu(x)"),
    "F.mish": ("F.silu(x)",),
    "F.hardswish": ("F.silu(x)",),
    "F.hardsigmoid": ("torch.sigmoid(x)",),
    "torch.sigmoid": ("F.hardsigmoid(x)", "0.5 + 0.5 * x / (1 + torch.abs(x))"),
    "torch.tanh": ("torch.clamp(x, -1.0, 1.0)", "x * (27 + x * x) / (27 + 9 * x * x)"),
    "F.softplus": ("F.softplus(x, threshold=4.0)", "F.relu(x)"),
    "F.selu": ("F.elu(x)",),
    "F.elu": ("F.celu(x, 2.0)",),
    "F.leaky_relu": ("F.relu(x)",),
    "F.relu": ("F.relu6(x)", "F.leaky_relu(x, 0.01)"),
    "F.hardtanh": ("torch.tanh(x)",),
    "torch.erf": ("torch.tanh(1.1283791671 * x)",),
    "torch.expm1": ("torch.exp(x) - 1.001",),
}
_BOUNDED = ("torch.clamp", "F.hardtanh", "clamp_by_extremes", "hardtanh_by_clamp")


@operator
def wrong_activation(tree: CandidateTree) -> Iterator[Edit]:
    """Another activation, or an approximation of it: tanh for erf, a hard one for a smooth one."""
    for call in tree.calls("F.gelu", "gelu_by_erf", "gelu_by_erfc"):
        for form in ("none", "tanh"):
            edited = ast.Call(call.func, call.args, [ast.keyword("approximate", ast.Constant(form))])
            yield Edit(call, edited, f"GELU with approximate={form}")
    for call in tree.calls(*_OTHER):
        for text in _OTHER[dotted(call.func)]:
            yield Edit(call, expression(text, x=call.args[0]), f"{dotted(call.func)} -> {text}")


@operator
def missing_activation(tree: CandidateTree) -> Iterator[Edit]:
    """An activation, an absolute value or a clamp is left out."""
    named = ("F.", "torch.")
    for call in tree.nodes(ast.Call):
        name = dotted(call.func)
        pointwise = name in (
            *_OTHER,
            *_BOUNDED,
            "torch.abs",
            "relu_where",
            "mish_by_log1p",
            "gelu_by_erf",
            "torch.sign",
        )
        if pointwise and call.args and (name.startswith(named) or "_" in name):
            yield Edit(call, call.args[0], f"without {name}")


@operator
def missing_bound(tree: CandidateTree) -> Iterator[Edit]:
    """A clamp has only one of its bounds."""
    for call in tree.calls(*_BOUNDED, "input.clamp"):
        for at, keyword in enumerate(call.keywords):
            other = float("-inf") if keyword.arg in ("min", "min_val") else float("inf")
            bound = expression(f"float('{other}')")
            keywords = [ast.keyword(k.arg, bound if i == at else k.value) for i, k in enumerate(call.keywords)]
            yield Edit(call, ast.Call(call.func, call.args, keywords), f"{dotted(call.func)} without {keyword.arg}")
        if len(call.args) == 3:
            for at, bound in ((1, "float('-inf')"), (2, "float('inf')")):
                edited = ast.Call(call.func, list(call.args), call.keywords)
                edited.args[at] = expression(bound)
                yield Edit(call, edited, f"{dotted(call.func)} without {('', 'lower', 'upper')[at]} bound")


@operator
def wrong_branch(tree: CandidateTree) -> Iterator[Edit]:
    """A selection has its sides exchanged, or its condition the wrong way round."""
    for call in tree.calls("torch.where"):
        if len(call.args) == 3:
            swapped = ast.Call(call.func, [call.args[0], call.args[2], call.args[1]], [])
            yield Edit(call, swapped, "torch.where: sides exchanged")
            yield Edit(call, call.args[1], "torch.where: the first side always")
    for node in tree.nodes(ast.Compare):
        if isinstance(node.ops[0], ast.Gt) and isinstance(node.comparators[0], ast.Constant):
            moved = ast.Compare(node.left, node.ops, [ast.Constant(0.1)])
            yield Edit(node, moved, f"{ast.unparse(node)} -> 0.1")

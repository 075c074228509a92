"""Faults of precision: operands, sums, intermediates and functions in fewer bits than float32 has."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import torch

from ..trees import CandidateTree, Edit, dotted, expression
from . import operator
from .parameters import OWN_PRODUCTS, PRODUCTS


def to_bfloat16(value):
    """Rounded to the 8 bits of bfloat16."""
    return value.to(torch.bfloat16).to(value.dtype)


def to_half(value):
    """Rounded to the 11 bits of float16."""
    return value.to(torch.float16).to(value.dtype)


def to_tf32(value):
    """Rounded to the 11 bits of TF32, by Dekker's splitting (1971)."""
    width = 2.0 ** (42 if value.dtype == torch.float64 else 13) + 1
    grown = value * width
    return grown - (grown - value)


_ROUNDINGS = (to_bfloat16, to_half, to_tf32)
_TENSOR_PRODUCTS = ("torch.matmul", "torch.bmm", "torch.mm", "torch.einsum", "F.scaled_dot_product_attention")
_SUMS = ("torch.sum", "torch.mean", "torch.norm", "torch.cumsum", "torch.logsumexp", "F.softmax", "F.log_softmax")
_FUNCTIONS = ("torch.exp", "torch.expm1", "torch.tanh", "torch.sigmoid", "torch.rsqrt", "torch.sqrt", "torch.log",
              "torch.erf", "torch.log1p", "F.gelu", "F.mish", "F.softplus")  # fmt: skip


_MAKES = ("torch.zeros_like", "torch.ones_like", "torch.full_like", "torch.arange", "torch.broadcast_shapes")


@operator
def low_precision_operands(tree: CandidateTree) -> Iterator[Edit]:
    """Both operands of a product are rounded to bfloat16, float16 or TF32."""
    for call in tree.calls(*PRODUCTS, *OWN_PRODUCTS, *_TENSOR_PRODUCTS):
        first = 1 if dotted(call.func) == "torch.einsum" else 0
        if len(call.args) < first + 2:
            continue
        for rounding in _ROUNDINGS:
            edited = ast.Call(call.func, list(call.args), call.keywords)
            for at in (first, first + 1):
                edited.args[at] = expression(f"{rounding.__name__}(x)", x=call.args[at])
            yield Edit(call, edited, f"{dotted(call.func)} {rounding.__name__}", (rounding,))


@operator
def low_precision_weights(tree: CandidateTree) -> Iterator[Edit]:
    """The weights of a product are kept in 16 bits."""
    for call in tree.calls(*PRODUCTS, *OWN_PRODUCTS):
        for rounding in (to_bfloat16, to_half):
            edited = expression(f"{rounding.__name__}(w)", w=call.args[1])
            yield Edit(call.args[1], edited, f"weights {rounding.__name__}", (rounding,))


@operator
def low_precision_accumulate(tree: CandidateTree) -> Iterator[Edit]:
    """A running sum is rounded to 16 bits after every step, or what is summed is."""
    for node in tree.nodes(ast.For):
        for statement in node.body:
            if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.BinOp):
                for rounding in (to_bfloat16, to_half):
                    edited = expression(f"{rounding.__name__}(x)", x=statement.value)
                    yield Edit(
                        statement.value,
                        edited,
                        f"{ast.unparse(statement.targets[0])} {rounding.__name__}",
                        (rounding,),
                    )
    for call in tree.calls(*_SUMS):
        for rounding in (to_bfloat16, to_half):
            edited = expression(f"{rounding.__name__}(x)", x=call.args[0])
            yield Edit(call.args[0], edited, f"{dotted(call.func)} of {rounding.__name__}", (rounding,))


@operator
def low_precision_intermediate(tree: CandidateTree) -> Iterator[Edit]:
    """A result between two steps is stored in 16 bits."""
    for node in tree.nodes(ast.Assign):
        called = dotted(node.value.func) if isinstance(node.value, ast.Call) else ""
        if called not in _MAKES and called.split(".")[0] in ("F", "torch", *OWN_PRODUCTS):
            for rounding in (to_bfloat16, to_half):
                edited = expression(f"{rounding.__name__}(x)", x=node.value)
                yield Edit(node.value, edited, f"{called} {rounding.__name__}", (rounding,))


@operator
def low_precision_output(tree: CandidateTree) -> Iterator[Edit]:
    """The output has passed through 16 bits."""
    for result in tree.results():
        assert result.value is not None
        for rounding in (to_bfloat16, to_half):
            edited = expression(f"{rounding.__name__}(x)", x=result.value)
            yield Edit(result.value, edited, f"output {rounding.__name__}", (rounding,))


@operator
def approximate_function(tree: CandidateTree) -> Iterator[Edit]:
    """An exponential, a root or the like has the 11 bits that fast hardware instructions give."""
    for call in tree.calls(*_FUNCTIONS):
        yield Edit(call, expression("to_tf32(y)", y=call), f"{dotted(call.func)} with 11 bits", (to_tf32,))

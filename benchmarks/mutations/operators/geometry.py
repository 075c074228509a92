"""Faults of place: axes, windows, edges and orders."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import torch
import torch.nn.functional as F  # noqa: N812

from ..trees import CandidateTree, Edit, dotted, expression
from . import operator
from .parameters import OWN_PRODUCTS, PRODUCTS

_POOLS = tuple(f"F.{kind}_pool{n}d" for kind in ("max", "avg") for n in (1, 2, 3))
_CONVOLUTIONS = tuple(name for name in (*PRODUCTS, *OWN_PRODUCTS) if "linear" not in name)


def padded_with_zeros(value, padding):
    """Zeros around the spatial dimensions."""
    sizes = padding if isinstance(padding, (tuple, list)) else (padding,) * (value.dim() - 2)
    return F.pad(value, [side for size in reversed(sizes) for side in (size, size)])


def padded_with_edge(value, padding):
    """The outermost values repeated around the spatial dimensions."""
    sizes = padding if isinstance(padding, (tuple, list)) else (padding,) * (value.dim() - 2)
    return F.pad(value, [side for size in reversed(sizes) for side in (size, size)], mode="replicate")


def without_last_tap(weight):
    """A kernel whose last tap is zero."""
    mask = torch.ones_like(weight)
    mask[(slice(None), slice(None), *[-1] * (weight.dim() - 2))] = 0
    return weight * mask


@operator
def swapped_axis(tree: CandidateTree) -> Iterator[Edit]:
    """A step goes along another dimension."""
    for call in tree.nodes(ast.Call):
        given = [k.value for k in call.keywords if k.arg == "dim"]
        if dotted(call.func) in ("torch.amax", "torch.cumsum", "F.softmax", "torch.sum", "torch.mean"):
            given += call.args[1:2]
        for dim in given:
            value = (
                ast.literal_eval(dim) if isinstance(dim, ast.Constant | ast.UnaryOp | ast.Tuple | ast.List) else None
            )
            if isinstance(value, int):
                for other in {value + 1, value - 1} - {value}:
                    yield Edit(dim, ast.Constant(other), f"dim {value} -> {other} in {dotted(call.func)}")
            elif isinstance(value, tuple | list) and len(value) > 1:
                fewer = expression(repr(tuple(value[:-1])))
                yield Edit(dim, fewer, f"dims {value} -> {value[:-1]} in {dotted(call.func)}")
            elif value is None and dotted(dim):
                yield Edit(dim, expression("d - 1", d=dim), f"{dotted(dim)} - 1 in {dotted(call.func)}")


@operator
def swapped_layout(tree: CandidateTree) -> Iterator[Edit]:
    """A square operand or kernel is read with rows and columns exchanged, or back to front."""
    for call in tree.calls("torch.matmul", "torch.bmm", "matmul_split", "matmul_tiles", "matmul_halves"):
        for argument in call.args[:2]:
            yield Edit(argument, expression("x.transpose(-2, -1)", x=argument), f"{dotted(call.func)}: transposed")
    for call in tree.calls(*_CONVOLUTIONS):
        weight = call.args[1]
        yield Edit(weight, expression("w.flip(-1)", w=weight), f"{dotted(call.func)}: kernel flipped")
        yield Edit(weight, expression("w.transpose(-2, -1)", w=weight), f"{dotted(call.func)}: kernel transposed")


@operator
def shifted_window(tree: CandidateTree) -> Iterator[Edit]:
    """Windows start one place too far."""
    for call in tree.calls(*_CONVOLUTIONS, *_POOLS, "max_pool_by_shifts", "avg_pool_by_shifts"):
        yield Edit(call.args[0], expression("x.roll(-1, -1)", x=call.args[0]), f"{dotted(call.func)}: one place on")


@operator
def wrong_padding(tree: CandidateTree) -> Iterator[Edit]:
    """Edges are padded with repeated values, with zeros under a maximum, or left out of a mean."""
    for call in tree.calls(*(f"F.conv{n}d" for n in (1, 2, 3)), "convolve_by_taps", "convolve_halves"):
        edited = ast.Call(call.func, list(call.args), call.keywords)
        if len(call.args) > 4:
            edited.args[0] = expression("padded_with_edge(x, p)", x=call.args[0], p=call.args[4])
            edited.args[4] = ast.Constant(0)
            yield Edit(call, edited, f"{dotted(call.func)}: edges repeated", (padded_with_edge,))
    for call in tree.calls(*(f"F.max_pool{n}d" for n in (1, 2, 3)), "max_pool_by_shifts"):
        if len(call.args) > 3:
            edited = ast.Call(call.func, list(call.args), call.keywords)
            edited.args[0] = expression("padded_with_zeros(x, p)", x=call.args[0], p=call.args[3])
            edited.args[3] = ast.Constant(0)
            yield Edit(call, edited, f"{dotted(call.func)}: zeros around", (padded_with_zeros,))
    for call in tree.calls(*(f"F.avg_pool{n}d" for n in (1, 2, 3))):
        edited = ast.Call(
            call.func, call.args, [*call.keywords, ast.keyword("count_include_pad", ast.Constant(False))]
        )
        yield Edit(call, edited, f"{dotted(call.func)}: padding not counted")


@operator
def missing_tap(tree: CandidateTree) -> Iterator[Edit]:
    """The last tap of a kernel is left out."""
    for call in tree.calls(*_CONVOLUTIONS):
        edited = expression("without_last_tap(w)", w=call.args[1])
        yield Edit(call.args[1], edited, f"{dotted(call.func)}: last tap", (without_last_tap,))


@operator
def wrong_channel(tree: CandidateTree) -> Iterator[Edit]:
    """Channels, groups or parameters are taken in another order."""
    for call in tree.calls(*PRODUCTS, *OWN_PRODUCTS):
        yield Edit(call.args[1], expression("w.roll(1, 0)", w=call.args[1]), f"{dotted(call.func)}: next channel")
    for call in tree.nodes(ast.Call):
        if "norm" in dotted(call.func):
            for argument in call.args:
                if dotted(argument).endswith((".weight", ".bias")):
                    edited = expression("p.roll(1, 0)", p=argument)
                    yield Edit(argument, edited, f"{dotted(argument)} of the next channel")


@operator
def wrong_groups(tree: CandidateTree) -> Iterator[Edit]:
    """A group normalisation has half or twice as many groups."""
    for node in tree.nodes(ast.Attribute):
        if node.attr == "num_groups":
            yield Edit(node, expression("g // 2", g=node), "half the groups")
            yield Edit(node, expression("g * 2", g=node), "twice the groups")


@operator
def rolled_output(tree: CandidateTree) -> Iterator[Edit]:
    """The output is one place off."""
    for result in tree.results():
        assert result.value is not None
        for dim in (-1, 0):
            edited = expression(f"out.roll(1, {dim})", out=result.value)
            yield Edit(result.value, edited, f"output: one place on along dim {dim}")

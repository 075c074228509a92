"""Faults at the ends of loops, tiles and outputs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..trees import CandidateTree, Edit, dotted, expression
from . import operator
from .parameters import OWN_PRODUCTS, PRODUCTS

_REDUCTIONS = ("torch.sum", "torch.mean", "torch.amax", "torch.amin", "torch.logsumexp", "F.softmax", "F.log_softmax")


def unwritten_element(out, at):
    """One element was never written: the last (-1), or one in the middle."""
    flat = out.reshape(-1).clone()
    flat[at if at < 0 else flat.numel() // 2] = 0
    return flat.reshape(out.shape)


def unwritten_slice(out, dim):
    """The last slice along a dimension was never written."""
    out = out.clone()
    out.narrow(dim, out.shape[dim] - 1, 1).zero_()
    return out


def unwritten_tile(out, tile):
    """What does not fill a whole tile at the end was never written."""
    flat = out.reshape(-1).clone()
    flat[flat.numel() // tile * tile :] = 0
    return flat.reshape(out.shape)


def stale_tile(out, share):
    """The last part still holds what the part before it holds."""
    flat = out.reshape(-1).clone()
    length = flat.numel() // share
    if length:
        flat[-length:] = flat[-2 * length : -length]
    return flat.reshape(out.shape)


def without_last(value, dim):
    """All but the last along a dimension."""
    return value.narrow(dim, 0, value.shape[dim] - 1)


@operator
def off_by_one_bound(tree: CandidateTree) -> Iterator[Edit]:
    """A loop or a slice ends one too early, or starts one too late."""
    for call in tree.calls("range"):
        at = 0 if len(call.args) == 1 else 1
        shorter = expression("n - 1", n=call.args[at])
        yield Edit(call.args[at], shorter, f"range({ast.unparse(call.args[at])}) one less")
    for call in tree.calls(*_REDUCTIONS):
        dims = _dimension(call)
        if dims is not None and not dotted(call.func).endswith("softmax"):
            shorter = expression("without_last(x, d)", x=call.args[0], d=dims)
            yield Edit(call.args[0], shorter, f"{dotted(call.func)} of all but the last", (without_last,))


def _dimension(call: ast.Call) -> ast.expr | None:
    """The one dimension a reduction goes over, if its text names one."""
    given = [k.value for k in call.keywords if k.arg == "dim"] or call.args[1:2]
    if not given or isinstance(given[0], ast.Tuple | ast.List):
        return None
    return given[0]


@operator
def missing_tail(tree: CandidateTree) -> Iterator[Edit]:
    """What is left at the end, less than a whole tile, is not computed."""
    for call in tree.calls("range"):
        if len(call.args) == 3:
            stop, step = call.args[1], call.args[2]
            yield Edit(stop, expression("n - n % t", n=stop, t=step), f"whole tiles of {ast.unparse(step)} only")
    for result in tree.results():
        for tile in (16, 32, 128):
            edited = expression(f"unwritten_tile(out, {tile})", out=_value(result))
            yield Edit(_value(result), edited, f"output: whole tiles of {tile} only", (unwritten_tile,))


@operator
def missing_last(tree: CandidateTree) -> Iterator[Edit]:
    """The last row, column or channel of the output is not written."""
    for result in tree.results():
        for dim in (0, 1, -1):
            edited = expression(f"unwritten_slice(out, {dim})", out=_value(result))
            yield Edit(_value(result), edited, f"output: last slice of dim {dim}", (unwritten_slice,))


@operator
def missing_element(tree: CandidateTree) -> Iterator[Edit]:
    """A single element of the output is not written."""
    for result in tree.results():
        for at in (0, -1):
            edited = expression(f"unwritten_element(out, {at})", out=_value(result))
            yield Edit(
                _value(result), edited, "output: element " + ("in the middle", "at the end")[at], (unwritten_element,)
            )


@operator
def stale_output(tree: CandidateTree) -> Iterator[Edit]:
    """The last part of the output repeats the part before it."""
    for result in tree.results():
        for share in (8, 64):
            edited = expression(f"stale_tile(out, {share})", out=_value(result))
            yield Edit(_value(result), edited, f"output: last of {share} parts is a copy", (stale_tile,))


@operator
def missing_input_channel(tree: CandidateTree) -> Iterator[Edit]:
    """The last channel of the input is left out of a product."""
    for call in tree.calls(*PRODUCTS, *OWN_PRODUCTS):
        dim = -1 if "linear" in dotted(call.func) else 1
        other = 0 if "transpose" in dotted(call.func) or dotted(call.func) in OWN_PRODUCTS[-2:] else dim
        edited = ast.Call(call.func, list(call.args), call.keywords)
        edited.args[0] = expression(f"without_last(x, {dim})", x=call.args[0])
        edited.args[1] = expression(f"without_last(w, {other})", w=call.args[1])
        yield Edit(call, edited, f"{dotted(call.func)} without the last channel", (without_last,))
    for call in tree.calls("torch.matmul", "torch.bmm", "matmul_split", "matmul_tiles", "matmul_halves"):
        if len(call.args) == 2:
            parts = {"f": call.func, "a": call.args[0], "b": call.args[1]}
            edited = expression("f(without_last(a, -1), without_last(b, -2))", **parts)
            yield Edit(call, edited, f"{dotted(call.func)} without the last of the inner dimension", (without_last,))


def _value(result: ast.Return) -> ast.expr:
    assert result.value is not None
    return result.value

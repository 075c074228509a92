"""Faults of reductions, scans and the moments of normalisations."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..trees import CandidateTree, Edit, dotted, expression
from . import operator
from .bounds import without_last

_OTHER = {
    "torch.amax": ("torch.mean", "torch.amin"),
    "torch.amin": ("torch.mean", "torch.amax"),
    "torch.sum": ("torch.mean",),
    "torch.mean": ("torch.sum", "torch.amax"),
    "torch.argmax": ("torch.argmin",),
    "torch.argmin": ("torch.argmax",),
    "torch.maximum": ("torch.minimum",),
    "torch.minimum": ("torch.maximum",),
    "torch.cumprod": ("torch.cumsum",),
    **{f"F.max_pool{n}d": (f"F.avg_pool{n}d",) for n in (1, 2, 3)},
    **{f"F.avg_pool{n}d": (f"F.max_pool{n}d",) for n in (1, 2, 3)},
    **{f"F.adaptive_avg_pool{n}d": (f"F.adaptive_max_pool{n}d",) for n in (1, 2, 3)},
}
_EXTREMES = ("amax", "amin", "max", "min")


def preceding_sums(value, dim):
    """An exclusive scan: every place has the sum of those before it."""
    return value.cumsum(dim) - value


@operator
def wrong_reduction(tree: CandidateTree) -> Iterator[Edit]:
    """A maximum is a mean, a mean a sum, a largest the least."""
    for call in tree.calls(*_OTHER):
        for other in _OTHER[dotted(call.func)]:
            arguments = call.args[:4] if "avg_pool" in other else call.args
            edited = ast.Call(expression(other), arguments, call.keywords)
            yield Edit(call, edited, f"{dotted(call.func)} -> {other}")
    for node in tree.nodes(ast.Attribute):
        pair = {"amax": "mean", "amin": "mean", "sum": "mean", "mean": "sum"}
        if (
            node.attr in pair
            and isinstance(node.value, ast.Name | ast.BinOp | ast.Subscript)
            and dotted(node) != f"torch.{node.attr}"
        ):
            yield Edit(
                node, ast.Attribute(node.value, pair[node.attr], ast.Load()), f".{node.attr} -> .{pair[node.attr]}"
            )


@operator
def wrong_count(tree: CandidateTree) -> Iterator[Edit]:
    """A mean is divided by one less, as an unbiased variance is."""
    for call in tree.calls("torch.mean"):
        given = [k.value for k in call.keywords if k.arg == "dim"] or call.args[1:2]
        if given and not isinstance(given[0], ast.Tuple | ast.List):
            parts = {"y": call, "x": call.args[0], "d": given[0]}
            edited = expression("y * (x.shape[d] / (x.shape[d] - 1))", **parts)
            yield Edit(call, edited, "torch.mean divided by n - 1")
    for call in tree.nodes(ast.Call):
        if (
            isinstance(call.func, ast.Attribute)
            and call.func.attr == "mean"
            and isinstance(call.func.value, ast.BinOp)
        ):
            parts = {"y": call, "x": call.func.value}
            yield Edit(
                call, expression("y * (x.shape[-1] / (x.shape[-1] - 1))", **parts), "variance divided by n - 1"
            )
    for node in tree.nodes(ast.BinOp):
        if isinstance(node.op, ast.Div) and dotted(node.right) in ("count", "length", "places"):
            yield Edit(node.right, expression("n - 1", n=node.right), f"{ast.unparse(node)} -> n - 1")


@operator
def no_max_subtraction(tree: CandidateTree) -> Iterator[Edit]:
    """A softmax or a logarithm of a sum without its maximum taken out."""
    for node in tree.nodes(ast.Assign):
        extreme = isinstance(node.value, ast.Call) and dotted(node.value.func).split(".")[-1] == "amax"
        if extreme and dotted(node.targets[0]) == "peak":
            yield Edit(node.value, expression("0 * x", x=node.value), "peak -> 0")
    texts = {
        "F.softmax": "torch.exp(x) / torch.exp(x).sum(d, keepdim=True)",
        "F.log_softmax": "x - torch.log(torch.exp(x).sum(d, keepdim=True))",
        "torch.logsumexp": "torch.log(torch.exp(x).sum(d, keepdim=True))",
    }
    for call in tree.calls(*texts):
        dims = [k.value for k in call.keywords if k.arg == "dim"] or call.args[1:2]
        kept = any(k.arg == "keepdim" for k in call.keywords)
        if dims and (kept or dotted(call.func) != "torch.logsumexp"):
            edited = expression(texts[dotted(call.func)], x=call.args[0], d=dims[0])
            yield Edit(call, edited, f"{dotted(call.func)} without the maximum")


@operator
def wrong_identity(tree: CandidateTree) -> Iterator[Edit]:
    """A maximum or minimum starts from zero."""
    for call in tree.calls("float"):
        if isinstance(call.args[0], ast.Constant) and str(call.args[0].value).endswith("inf"):
            yield Edit(call, ast.Constant(0.0), f"{ast.unparse(call)} -> 0")
    for call in tree.calls("torch.amax", "torch.amin"):
        bound = "min" if dotted(call.func) == "torch.amax" else "max"
        yield Edit(call, expression(f"y.clamp({bound}=0.0)", y=call), f"{dotted(call.func)} from zero")
    for call in tree.calls("F.max_pool1d", "F.max_pool2d", "F.max_pool3d"):
        yield Edit(call, expression("y.clamp(min=0.0)", y=call), f"{dotted(call.func)} from zero")


@operator
def wrong_scan(tree: CandidateTree) -> Iterator[Edit]:
    """A scan excludes its own place where it should include it, or loses the carry between blocks."""
    for call in tree.calls("torch.cumsum"):
        dims = [k.value for k in call.keywords if k.arg == "dim"] or call.args[1:2]
        edited = expression("preceding_sums(x, d)", x=call.args[0], d=dims[0])
        yield Edit(call, edited, "exclusive", (preceding_sums,))
    for node in tree.nodes(ast.BinOp):
        if dotted(node.right) == "carry":
            yield Edit(node, node.left, "without the carry")


@operator
def missing_part(tree: CandidateTree) -> Iterator[Edit]:
    """A reduction in blocks forgets to rescale, or to carry, what was before."""
    for node in tree.nodes(ast.Assign):
        total = dotted(node.targets[0])
        match node.value:
            case ast.BinOp(left=ast.BinOp(left=before, op=ast.Mult()) as rescaled, op=ast.Add()):
                if dotted(before) == total:
                    yield Edit(rescaled, before, f"{total} not rescaled")
    for call in tree.calls("torch.maximum", "torch.minimum"):
        yield Edit(call, call.args[1], f"{dotted(call.func)}: the second alone")


@operator
def shortened_softmax(tree: CandidateTree) -> Iterator[Edit]:
    """The last element is left out of the sum of a softmax, and gets none of it."""
    for call in tree.calls("F.softmax", "F.log_softmax"):
        dims = [k.value for k in call.keywords if k.arg == "dim"] or call.args[1:2]
        parts = {"f": call.func, "x": call.args[0], "d": dims[0]}
        text = "torch.cat([f(without_last(x, d), dim=d), torch.zeros_like(x.narrow(d, 0, 1))], d)"
        yield Edit(call, expression(text, **parts), f"{dotted(call.func)} without the last", (without_last,))

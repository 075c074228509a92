"""What each operator that accumulates may lose in float32; `rounding_noise` calls these with what it returned.

Each is given the mode, the operator's outputs (float64, changed in place), and its arguments.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from kernelgauge.checks.accumulation import (
    ROUNDING,
    UNIT,
    lost,
    lost_off_the_grid,
    of_merged_means,
    of_sum,
    of_terms,
)

if TYPE_CHECKING:
    from kernelgauge.worker.rounding_noise import RoundingNoise as Noise

Tensors = list[torch.Tensor]
Arguments = tuple[Any, ...]
Named = dict[str, Any]

# Functions of libraries for float32 are off by one or two units in the last place.
ELEMENTWISE = UNIT


def _dims(tensor: torch.Tensor, dim: Any) -> list[int]:
    if dim is None or (isinstance(dim, list | tuple) and not dim):
        return list(range(tensor.dim()))
    given = [dim] if isinstance(dim, int) else dim
    return [each % max(tensor.dim(), 1) for each in given]


def sum_of_squares(terms: torch.Tensor, dim: list[int], keep: bool) -> torch.Tensor:
    """Over these dimensions, in float64, without a copy of the terms."""
    if not terms.dim():
        return terms.square()
    norm: torch.Tensor = torch.linalg.vector_norm(terms, 2, dim, keep, dtype=torch.float64)
    return norm.square_()


_Handler = Callable[["Noise", Tensors, Arguments, Named], None]


def _product(left: int, right: int) -> _Handler:
    """Of matrices, batches of them, or vectors; the two among the arguments. Squared terms are taken as independent
    of each other: then their sum is a product of norms."""

    def noise(mode: Noise, outputs: Tensors, args: Arguments, kwargs: Named) -> None:
        a, b = args[left], args[right]
        count = a.shape[-1]
        if not count:
            return
        rows = sum_of_squares(a, [a.dim() - 1], keep=False)
        columns = sum_of_squares(b, [max(b.dim() - 2, 0)], keep=False)
        squares = rows.unsqueeze(-1) * columns.unsqueeze(-2) if columns.dim() else rows * columns
        if squares.dim() > outputs[0].dim():  # a matrix times a vector
            squares = squares.squeeze(-1)
        mode.add(outputs[0], of_sum(count), squares.mul_(of_terms(count) ** 2 / count), lost(count))

    return noise


def _convolution(mode: Noise, outputs: Tensors, args: Arguments, kwargs: Named) -> None:
    x, weight, _, stride, _, _, transposed = args[:7]
    if transposed:
        groups = args[8]
        steps = math.prod(stride) if len(stride) == weight.dim() - 2 else stride[0] ** (weight.dim() - 2)
        count = max(weight[:, 0].numel() // groups // steps, 1)
        own = sum_of_squares(weight, [0, *range(2, weight.dim())], keep=False)
        own = own.repeat(groups) / groups / steps
    else:
        count = weight[0].numel()
        own = sum_of_squares(weight, list(range(1, weight.dim())), keep=False)
    spatial = x.dim() - 2
    batch = weight.dim() == x.dim()
    power = sum_of_squares(x, list(range(int(batch), x.dim())), keep=False) * x.shape[0] / x.numel()
    if not batch:
        power = power / x.shape[0]
    squares = power.reshape(-1, *[1] * (spatial + 1)) * own.reshape(1, -1, *[1] * spatial)
    if not batch:
        squares = squares[0]
    mode.add(outputs[0], of_sum(count), squares.mul_(of_terms(count) ** 2), lost(count))


def _sum(mean: bool) -> _Handler:
    def noise(mode: Noise, outputs: Tensors, args: Arguments, kwargs: Named) -> None:
        terms = args[0]
        mode.sum_of(outputs[0], terms, _dims(terms, args[1] if len(args) > 1 else kwargs.get("dim")), mean)

    return noise


def _norm(mode: Noise, outputs: Tensors, args: Arguments, kwargs: Named) -> None:
    terms, order = args[0], args[1] if len(args) > 1 and args[1] is not None else 2
    dim = _dims(terms, args[2] if len(args) > 2 else kwargs.get("dim"))
    if order in (math.inf, -math.inf, 0):
        return
    count = math.prod(terms.shape[each] for each in dim)
    if order == 1:
        mode.sum_of(outputs[0], terms, dim, mean=False)
    else:
        mode.of_positive(outputs[0], count, 1 / abs(order))


def _merge(mode: Noise, output: torch.Tensor, mean: torch.Tensor, count: int, root: bool) -> None:
    """Errors of a variance, or its root, that is merged from those of pieces."""
    error = mean.abs_().mul_(of_merged_means(count) / math.sqrt(count)).mul_(mode.normal(output, output.shape))
    output.add_(error.div_(2) if root else error.mul_(output.abs().sqrt()))


def _variance(root: bool, both: bool) -> _Handler:
    def noise(mode: Noise, outputs: Tensors, args: Arguments, kwargs: Named) -> None:
        terms = args[0]
        dim = _dims(terms, args[1] if len(args) > 1 and not isinstance(args[1], bool) else kwargs.get("dim"))
        count = math.prod(terms.shape[each] for each in dim)
        keep = outputs[0].dim() == terms.dim()
        if mode.variances == "one_pass":
            error = sum_of_squares(terms, dim, keep).div_(count).mul_(of_terms(count))
            error = error.mul_(mode.normal(outputs[0], outputs[0].shape))
            if root:
                outputs[0].square_().add_(error).clamp_min_(0).sqrt_()
            else:
                outputs[0].add_(error)
        else:
            if mode.variances == "usual" and count:
                _merge(mode, outputs[0], terms.mean(dim, keep), count, root)
            mode.of_positive(outputs[0], count, 0.5 if root else 1.0)
        if both:
            mode.sum_of(outputs[1], terms, dim, mean=True)

    return noise


def _running(mode: Noise, outputs: Tensors, args: Arguments, kwargs: Named) -> None:
    """Of a cumulated sum: each step rounds what has been summed up so far."""
    dim = args[1] % max(args[0].dim(), 1)
    output = outputs[0]
    if not output.dim():
        return
    steps = mode.normal(output, output.shape).mul_(output).mul_(ROUNDING)
    same = 0.0
    if mode.off_the_grid(args[0]):
        same = lost_off_the_grid(output.shape[dim])
    output.add_(steps.cumsum_(dim)).mul_(1 + same * mode.side(output))


def _running_product(mode: Noise, outputs: Tensors, args: Arguments, kwargs: Named) -> None:
    dim = args[1] % max(args[0].dim(), 1)
    if outputs[0].dim():
        steps = mode.normal(outputs[0], outputs[0].shape).mul_(UNIT)
        outputs[0].addcmul_(outputs[0], steps.cumsum_(dim))


def _whole_product(mode: Noise, outputs: Tensors, args: Arguments, kwargs: Named) -> None:
    mode.add(outputs[0], UNIT * math.sqrt(max(args[0].numel() // outputs[0].numel(), 1)))


def _softmax(log: bool) -> _Handler:
    def noise(mode: Noise, outputs: Tensors, args: Arguments, kwargs: Named) -> None:
        output, dim = outputs[0], args[1]
        count = output.shape[dim] if output.dim() else 1
        row = [1 if each == dim % max(output.dim(), 1) else size for each, size in enumerate(output.shape)]
        off = mode.normal(output, row).mul_(of_terms(count)).add_(lost(count, True) * mode.side(output))
        if log:
            output.add_(off)
        else:
            output.mul_(off.add_(1))
        mode.add(output, 4 * UNIT)  # the exponential of a difference, or its logarithm

    return noise


def _logsumexp(mode: Noise, outputs: Tensors, args: Arguments, kwargs: Named) -> None:
    count = max(args[0].numel() // outputs[0].numel(), 1)
    size = torch.tensor(of_terms(count) ** 2, dtype=outputs[0].dtype, device=outputs[0].device)
    mode.add(outputs[0], 2 * UNIT, size)


def _normalised(
    mode: Noise,
    x: torch.Tensor,
    y: torch.Tensor,
    mean: torch.Tensor,
    rstd: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    count: int,
) -> None:
    """Errors of mean and variance in a normalisation, to first order; its variance from the mean of squares, as
    half of all kernels take it.

    Args:
        x: not used but for whether it holds inputs as drawn.
        mean, rstd, weight, bias: of shapes that broadcast to `y`.
    """
    variance = rstd.square().reciprocal_()
    squares = variance + mean.square()
    drawn = mode.off_the_grid(x)
    mode.normalised |= drawn
    shift = lost_off_the_grid(count) * mode.side(y) if drawn else 0.0
    off_mean = mode.normal(y, mean.shape).mul_(squares.sqrt().mul_(of_terms(count))).add_(mean * shift)
    relative = mode.normal(y, mean.shape).mul_(of_terms(count)).add_(lost(count, True) * mode.side(y))
    if mode.variances == "two_pass":
        squares, mean = variance, mean * 0
    off_variance = relative.mul_(squares).sub_(2 * mean * off_mean)
    if bias is not None:
        y.sub_(bias)
    y.mul_(1 - off_variance.div_(variance).mul_(0.5).clamp_(-1, 1))
    off = off_mean.mul_(rstd)
    y.sub_(off if weight is None else off * weight)
    if bias is not None:
        y.add_(bias)
    mode.add(y, 2 * ELEMENTWISE)


def _layer_norm(mode: Noise, outputs: Tensors, args: Arguments, kwargs: Named) -> None:
    x, shape, weight, bias = args[:4]
    y, mean, rstd = outputs
    _normalised(mode, x, y, mean, rstd, weight, bias, math.prod(shape))


def _group_norm(mode: Noise, outputs: Tensors, args: Arguments, kwargs: Named) -> None:
    x, weight, bias, samples, channels, size, groups = args[:7]
    y, mean, rstd = outputs
    grouped = y.view(samples, groups, channels // groups, size)
    affine = [None if each is None else each.view(1, groups, channels // groups, 1) for each in (weight, bias)]
    mean, rstd = (each.view(samples, groups, 1, 1) for each in (mean, rstd))
    _normalised(mode, x, grouped, mean, rstd, affine[0], affine[1], size * channels // groups)


def _batch_norm(mode: Noise, outputs: Tensors, args: Arguments, kwargs: Named) -> None:
    x, weight, bias = args[:3]
    y = outputs[0]
    statistics = [each for each in outputs[1:3] if each.shape == (x.shape[1],)]
    if len(statistics) < 2:  # those it has kept
        mode.add(y, 2 * ELEMENTWISE)
        return
    shape = [1, -1, *[1] * (x.dim() - 2)]
    parts = [None if each is None else each.view(shape) for each in (*statistics, weight, bias)]
    mean, rstd = parts[:2]
    assert mean is not None and rstd is not None
    _normalised(mode, x, y, mean, rstd, parts[2], parts[3], x.numel() // x.shape[1])


def _pool(dims: int | None) -> _Handler:
    """Of averages over windows: of so many dimensions, or as an output of some shape asks for."""

    def noise(mode: Noise, outputs: Tensors, args: Arguments, kwargs: Named) -> None:
        x, output, size = args[0], outputs[0], args[1]
        count = max(x.numel() // output.numel(), 1)
        if dims is not None:
            count = math.prod(size) if len(size) > 1 else size[0] ** dims
        power = sum_of_squares(x, list(range(x.dim())), keep=False) / x.numel()
        mode.add(output, of_sum(count), power.mul_(of_terms(count) ** 2 / count))

    return noise


def _loss(mode: Noise, outputs: Tensors, args: Arguments, kwargs: Named) -> None:
    """Sums of terms of one sign, where they are reduced."""
    count = max(args[0].numel() // outputs[0].numel(), 1)
    mode.of_positive(outputs[0], count)
    mode.add(outputs[0], 2 * ELEMENTWISE)


def _scattered(mode: Noise, outputs: Tensors, args: Arguments, kwargs: Named) -> None:
    added = max((each.numel() for each in args if isinstance(each, torch.Tensor)), default=1)
    mode.of_positive(outputs[0], max(2 * added // outputs[0].numel(), 2), squares=False)


_BATCH_NORMS = (
    "native_batch_norm",
    "cudnn_batch_norm",
    "miopen_batch_norm",
    "_native_batch_norm_legit",
    "_native_batch_norm_legit_functional",
    "_batch_norm_with_update",
)
VARIANCES = frozenset(("var", "std", "var_mean", "std_mean", "native_layer_norm", "native_group_norm", *_BATCH_NORMS))
"""Operators whose errors depend on how they take a variance; see `checks.accumulation.Variances`."""

PRODUCT = re.compile("mm|mv|dot|conv|linear|einsum|attention|rnn|lstm|gru|cdist|transformer")
"""Stands in the names of operators that tensor cores can do; in others too, which does no harm."""

ACCUMULATING: dict[str, _Handler] = {
    **dict.fromkeys(("mm", "bmm", "mv", "dot", "vdot"), _product(0, 1)),
    **dict.fromkeys(("addmm", "addmm_", "baddbmm", "baddbmm_", "addmv", "addmv_"), _product(1, 2)),
    **dict.fromkeys(("convolution", "cudnn_convolution", "_convolution"), _convolution),
    **dict.fromkeys(("sum", "nansum", "trace"), _sum(mean=False)),
    **dict.fromkeys(("mean", "nanmean"), _sum(mean=True)),
    **dict.fromkeys(("linalg_vector_norm", "norm"), _norm),
    "var": _variance(root=False, both=False),
    "std": _variance(root=True, both=False),
    "var_mean": _variance(root=False, both=True),
    "std_mean": _variance(root=True, both=True),
    **dict.fromkeys(("cumsum", "cumsum_"), _running),
    **dict.fromkeys(("cumprod", "cumprod_"), _running_product),
    "prod": _whole_product,
    **dict.fromkeys(("_softmax", "_safe_softmax"), _softmax(log=False)),
    "_log_softmax": _softmax(log=True),
    **dict.fromkeys(("logsumexp", "_logcumsumexp", "logcumsumexp"), _logsumexp),
    "native_layer_norm": _layer_norm,
    "native_group_norm": _group_norm,
    **dict.fromkeys(_BATCH_NORMS, _batch_norm),
    "avg_pool2d": _pool(2),
    "avg_pool3d": _pool(3),
    **dict.fromkeys(("_adaptive_avg_pool2d", "_adaptive_avg_pool3d"), _pool(None)),
    **dict.fromkeys(
        (
            "mse_loss",
            "smooth_l1_loss",
            "huber_loss",
            "binary_cross_entropy",
            "binary_cross_entropy_with_logits",
            "nll_loss_forward",
            "nll_loss2d_forward",
            "multi_margin_loss",
            "multilabel_margin_loss_forward",
            "soft_margin_loss",
            "_cdist_forward",
            "_euclidean_dist",
            "_pdist_forward",
        ),
        _loss,
    ),
    **dict.fromkeys(
        ("index_add", "index_add_", "scatter_add", "scatter_add_", "_embedding_bag", "segment_reduce"), _scattered
    ),
}

"""Input variants of the strict protocol: other values than the problem's own draw, where its domain allows them.

All published problems draw from [0, 1), where ReLU is the identity and a softmax row is nearly constant. A fixed
second distribution would only move the trick, so mean and scale are drawn anew for each trial.
"""

from __future__ import annotations

from typing import Any

import torch

_FEW_VALUES = 16
_SAMPLE = 1 << 16
"""Elements that are looked at first."""
_PLANTED = 16
_PLANTED_OF = 64
# Bits of a float32's mantissa that a type rounds away, and how many of 16 `offgrid` values lie off its steps.
_LOST_BITS = {"tf32": (13, 8), "bfloat16": (16, 1)}
_OFF_A_STEP = 0.40, 0.49
"""Of a step: rounded back, and yet no less than a coarse accumulator would add for half of its own."""


def _rows_sum_to_one(tensor: torch.Tensor) -> bool:
    if tensor.dim() == 0 or (tensor < 0).any():
        return False
    return any(
        tensor.shape[dim] > 1 and torch.allclose(total, torch.ones_like(total), atol=1e-4)
        for dim in range(tensor.dim())
        for total in [tensor.sum(dim)]
    )


def classify(first: Any, second: Any) -> str:
    """The domain of an input nobody described, judged from two draws of it.

    Returns `real` where other values make sense, `fixed` where the values look like labels, masks, probabilities or
    something structured: integers, few distinct values, rows that sum to one, many exact zeros, symmetry, constants.
    """
    if not isinstance(first, torch.Tensor) or not first.is_floating_point() or first.numel() < 2:
        return "fixed"
    if not first.isfinite().all() or torch.equal(first, second):
        return "fixed"
    sample = first.flatten()[:_SAMPLE]
    if sample.unique().numel() <= _FEW_VALUES < sample.numel() or (first == 0).float().mean() > 0.1:
        return "fixed"
    square = first.dim() == 2 and first.shape[0] == first.shape[1]
    if _rows_sum_to_one(first) or (square and torch.equal(first, first.T)):
        return "fixed"
    return "real"


def unchanged(first: Any, second: Any) -> bool:
    """Whether two draws of an input are the same."""
    if not isinstance(first, torch.Tensor) or not isinstance(second, torch.Tensor):
        return type(first) is type(second) and bool(first == second)
    if first.shape != second.shape or first.dtype != second.dtype:
        return False
    if first.dim() and first.numel():  # a few rows tell nearly always, and take no time and no memory
        rows = max(1, _SAMPLE * len(first) // first.numel())
        if not torch.equal(first[:rows], second[:rows]):
            return False
    return torch.equal(first, second)


def vary(value: Any, variant: str, domain: str) -> Any:
    """`value` under a variant, drawn from torch's global generator; same shape and dtype.

    `signed` flips signs at random, `scaled` multiplies by one factor in [0.1, 4), `normal` draws a normal with random
    mean in [-1, 1) and standard deviation in [0.25, 2). `offgrid` moves half of the values a little outwards from
    one that TF32 has and a sixteenth from one that bfloat16 has, so that these types round them back alike: in an
    average, rounding to both sides cancels. Not all of them, and by nearly half a step: a long float32 sum whose
    last place is such a step, or a coarser one, must not do the same. `planted` leaves all but a few values as
    drawn, so that a sample looks as published. `large` draws a normal with standard deviation in [30, 60), where
    exponentials overflow and bounds bind, with nothing positive in the first half of the first dimension that has
    two elements. A `positive` input stays positive; a `fixed` one as drawn. A number is varied like a tensor of one
    element, and is a value that float32 has.
    """
    if domain == "fixed" or variant == "own":
        return value
    if isinstance(value, float):
        return float(vary(torch.tensor(value), variant, domain))
    if not isinstance(value, torch.Tensor):
        return value
    factor = float(torch.empty(()).uniform_(0.1, 4.0))
    if variant == "scaled" or (variant == "signed" and domain == "positive"):
        return value * factor
    if variant == "offgrid":
        return _off_the_grid(value)
    if variant == "planted":
        return _planted(value, domain)
    if variant == "signed":
        return value * (torch.randint_like(value, 0, 2) * 2 - 1)
    if variant == "normal":
        mean = float(torch.empty(()).uniform_(-1.0, 1.0))
        deviation = float(torch.empty(()).uniform_(0.25, 2.0))
        drawn = torch.randn_like(value) * deviation + mean
        return drawn.abs() + torch.finfo(value.dtype).tiny if domain == "positive" else drawn
    if variant == "large":
        drawn = torch.randn_like(value).mul_(float(torch.empty(()).uniform_(30.0, 60.0)))
        if domain == "positive":
            return drawn.abs_().add_(torch.finfo(value.dtype).tiny)
        dim = next((dim for dim, size in enumerate(value.shape) if size > 1), None)
        if dim is not None:
            drawn.narrow(dim, 0, value.shape[dim] // 2).abs_().neg_()
        return drawn
    raise ValueError(f"unknown input variant {variant!r}")


def _off_the_grid(value: torch.Tensor) -> torch.Tensor:
    bits = value.float().clone().contiguous().view(torch.int32)
    which = torch.randint(0, 16, bits.shape, dtype=torch.int8, device=bits.device)
    first = 0
    for lost, share in _LOST_BITS.values():
        least, most = (int(part * 2**lost) for part in _OFF_A_STEP)
        moved = torch.randint_like(bits, least, most).add_(bits & -(1 << lost))
        chosen = (which >= first) & (which < first + share) & (bits << 1 != 0)
        bits = torch.where(chosen, moved, bits)
        first += share
    return bits.view(torch.float32).to(value.dtype)


def _planted(value: torch.Tensor, domain: str) -> torch.Tensor:
    """A copy with up to 16 values, and one of 64 at the most, two to six times as large as usual, of either sign."""
    flat = value.flatten().clone()
    count = min(_PLANTED, -(-flat.numel() // _PLANTED_OF))
    where = torch.randint(flat.numel(), (count,), device=value.device)
    usual = flat[: 1 << 16].square().mean().sqrt()
    planted = torch.empty(count, dtype=value.dtype, device=value.device).uniform_(2.0, 6.0) * usual
    if domain != "positive":
        planted *= torch.randint_like(planted, 0, 2) * 2 - 1
    flat[where] = planted
    return flat.view(value.shape)


def rounded(value: Any, precision: str) -> Any:
    """A float tensor rounded to the values of a narrower type (`tf32`, `bfloat16`), same dtype; others as they are.

    TF32 keeps ten bits of the mantissa (NVIDIA, A100 white paper) and is rounded half up here, in float32.
    """
    if not isinstance(value, torch.Tensor) or not value.is_floating_point():
        return value
    if precision == "bfloat16":
        return value.to(torch.bfloat16).to(value.dtype)
    if precision == "tf32":
        bits = value.float().contiguous().view(torch.int32)
        return ((bits + 0x1000) & ~0x1FFF).view(torch.float32).to(value.dtype)
    raise ValueError(f"unknown precision {precision!r}")

"""Input variants of the strict protocol: other values than the problem's own draw, where its domain allows them.

All published problems draw from [0, 1), where ReLU is the identity and a softmax row is nearly constant. A fixed
second distribution would only move the trick, so mean and scale are drawn anew for each trial.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

_FEW_VALUES = 16
_SAMPLE = 1 << 16
"""Elements that are looked at first."""
_PLANTED = 16
_PLANTED_OF = 64
# Of twelve `offgrid` values: just above one that bfloat16 has, just above one that TF32 has, and nearly half way to
# the next that bfloat16 has. Measured in decision 26; a quarter of the first alone would bias long sums in float32.
_OF_TWELVE = 3, 6, 1
_TF32_BITS, _BFLOAT16_BITS = 13, 16
"""Of a float32's mantissa, those that the type rounds away."""
_HALF_TF32_STEP = 2.0**-12
"""Relative, and the least of all values."""
_ABOVE_BFLOAT16, _ABOVE_TF32 = 0.75, 0.98
"""Of that."""
_OF_A_STEP = 0.40, 0.49
_STRUCTURES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "symmetric": lambda matrices: matrices.triu() + matrices.triu(1).mT,
    "upper_triangular": torch.triu,
    "lower_triangular": torch.tril,
}
"""By domain: what gives matrices its structure again once their values were changed."""
# Values moved together: a full-size input leaves little room.
_CHUNK = 1 << 24


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
    mean in [-1, 1) and standard deviation in [0.25, 2). `offgrid` moves five values in six to where TF32 or
    bfloat16 rounds them back alike: in an average, rounding to both sides cancels. Not all of them, and not one
    way: a long float32 sum, whose last place is as coarse, must not round them alike too. `planted` leaves all but
    a few values as drawn, so that a sample looks as published. `large` draws a normal with standard deviation in
    [30, 60), where exponentials overflow and bounds bind, with nothing positive in the first half of the first
    dimension that has two elements. A `positive` input stays positive, a symmetric or triangular one that; a
    `fixed` one as drawn.
    """
    if domain == "fixed" or variant == "own":
        return value
    if isinstance(value, float):
        return float(vary(torch.tensor(value), variant, domain))
    if not isinstance(value, torch.Tensor):
        return value
    varied = torch.empty(value.shape, dtype=value.dtype, device=value.device)
    vary_into(varied, value, variant, domain)
    return varied


def vary_into(place: torch.Tensor, value: torch.Tensor, variant: str, domain: str) -> None:
    """Write to a contiguous tensor what `vary` returns, piece by piece: a full-size input leaves room for no copy."""
    if domain == "fixed" or variant in ("own", "offgrid", "planted"):
        place.copy_(value)
    if domain == "fixed" or variant == "own":
        return
    if variant == "offgrid":
        _off_the_grid(place)
    elif variant == "planted":
        _planted(place, domain)
    else:
        changed = _change(variant, domain)
        for to, drawn in zip(place.view(-1).split(_CHUNK), value.reshape(-1).split(_CHUNK), strict=True):
            to.copy_(changed(drawn))
        dim = next((dim for dim, size in enumerate(place.shape) if size > 1), None)
        if variant == "large" and domain != "positive" and dim is not None:
            place.narrow(dim, 0, place.shape[dim] // 2).abs_().neg_()
    if structured := _STRUCTURES.get(domain):
        place.copy_(structured(place))


def _change(variant: str, domain: str) -> Callable[[torch.Tensor], torch.Tensor]:
    """What a variant does to each piece of one input, with the numbers that all pieces share drawn here."""
    factor = float(torch.empty(()).uniform_(0.1, 4.0))
    if variant == "scaled" or (variant == "signed" and domain == "positive"):
        return lambda piece: piece * factor
    if variant == "signed":
        return lambda piece: piece * (torch.randint_like(piece, 0, 2) * 2 - 1)
    if variant == "normal":
        mean = float(torch.empty(()).uniform_(-1.0, 1.0))
        deviation = float(torch.empty(()).uniform_(0.25, 2.0))
    elif variant == "large":
        mean, deviation = 0.0, float(torch.empty(()).uniform_(30.0, 60.0))
    else:
        raise ValueError(f"unknown input variant {variant!r}")

    def normal(piece: torch.Tensor) -> torch.Tensor:
        drawn = torch.randn_like(piece).mul_(deviation).add_(mean)
        return drawn.abs_().add_(torch.finfo(piece.dtype).tiny) if domain == "positive" else drawn

    return normal


def _off_the_grid(place: torch.Tensor) -> None:
    """Which places are which is the same for all tensors of one size: their differences are off the grid, too."""
    flat = place.view(-1)
    if flat.numel() == 1:  # the other two kinds would move a lone number to the same place each time
        flat.copy_(_near_the_middle(flat.float().view(torch.int32)).view(torch.float32))
        return
    same = torch.Generator(flat.device).manual_seed(flat.numel())
    for piece in flat.split(_CHUNK):
        bits = piece.float().view(torch.int32)
        which = torch.randint(0, 12, bits.shape, dtype=torch.int8, device=bits.device, generator=same)
        moved, first = bits.clone(), 0
        for share, kind in zip(_OF_TWELVE, (_above_bfloat16, _above_tf32, _near_the_middle), strict=True):
            moved = torch.where((which >= first) & (which < first + share), kind(bits), moved)
            first += share
        piece.copy_(moved.view(torch.float32))


def _above_bfloat16(bits: torch.Tensor) -> torch.Tensor:
    near: torch.Tensor = rounded(bits.view(torch.float32), "bfloat16")
    return (near * (1 + _ABOVE_BFLOAT16 * _HALF_TF32_STEP)).view(torch.int32)


def _above_tf32(bits: torch.Tensor) -> torch.Tensor:
    near = (bits & -(1 << _TF32_BITS)).view(torch.float32)
    return near.mul_(1 + _ABOVE_TF32 * _HALF_TF32_STEP).view(torch.int32)


def _near_the_middle(bits: torch.Tensor) -> torch.Tensor:
    least, most = (int(part * (1 << _BFLOAT16_BITS)) for part in _OF_A_STEP)
    moved = torch.randint_like(bits, least, most).add_(bits & -(1 << _BFLOAT16_BITS))
    return torch.where(bits << 1 != 0, moved, bits)  # not a zero


def _planted(place: torch.Tensor, domain: str) -> None:
    """Make up to 16 values, and one of 64 at the most, two to six times as large as usual, of either sign."""
    flat = place.view(-1)
    count = min(_PLANTED, -(-flat.numel() // _PLANTED_OF))
    where = torch.randint(flat.numel(), (count,), device=flat.device)
    usual = flat[: 1 << 16].square().mean().sqrt()
    planted = torch.empty(count, dtype=flat.dtype, device=flat.device).uniform_(2.0, 6.0) * usual
    if domain != "positive":
        planted *= torch.randint_like(planted, 0, 2) * 2 - 1
    flat[where] = planted


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

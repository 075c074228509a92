"""What is wrong with a wrong output: where its wrong elements lie, and what kind of mistake makes such.

A description for whoever wrote the candidate; no verdict depends on it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import torch

from kernelgauge.config import Tolerance
from kernelgauge.schema import Difference, WrongElement

_SHOWN = 3
# Looking for patterns takes several copies of what is looked at: of larger outputs the first rows.
_MOST_ELEMENTS = 1 << 20
_CHUNK = 1 << 22
# An element further off than this many times the allowed root mean square is wrong by itself.
_ALONE = 4.0
# So much of the squared error must a pattern explain.
_EXPLAINED = 0.999


def difference(
    outputs: Sequence[torch.Tensor], expected: Sequence[torch.Tensor], tolerance: Tolerance, allowed: float
) -> Difference | None:
    """The wrong elements of that output which has the largest share of them; None if no element stands out.

    Args:
        outputs: of the candidate; shapes are those of `expected`.
        allowed: what the protocol allows of the root mean square, see `Trial.allowed`.
    """
    found = []
    for index, (output, due) in enumerate(zip(outputs, expected, strict=True)):
        try:
            got, right = _real(output), _real(due)
            if (mask := _wrong(got, right, tolerance, allowed)) is not None:
                found.append((float(mask.float().mean()), -index, got, right, mask))
        except torch.OutOfMemoryError:
            continue  # the verdict stands without it
    if not found:
        return None
    _, index, got, due, mask = max(found, key=lambda each: each[:2])
    return Difference(
        output=-index,
        shape=tuple(got.shape),
        wrong=int(mask.sum()),
        region=tuple(_ranges(mask)),
        first=tuple(_first(got, due, mask)),
        hints=tuple(dict.fromkeys(_hints(got, due, mask))),
    )


def _real(tensor: torch.Tensor) -> torch.Tensor:
    return torch.view_as_real(tensor) if tensor.is_complex() else tensor


def _wrong(got: torch.Tensor, due: torch.Tensor, tolerance: Tolerance, allowed: float) -> torch.Tensor | None:
    """Which elements are wrong, as booleans of the output's shape; None if there are none."""
    if got.numel() == 0:
        return None
    if not got.is_floating_point():
        mask = (got != due.to(got.device)).contiguous()
        return mask if bool(mask.any()) else None
    scale = _scale(due, got.device)
    for times in (_ALONE, 1.0):
        mask = torch.empty(got.shape, dtype=torch.bool, device=got.device)
        flat, left, right = mask.view(-1), got.reshape(-1), due.reshape(-1)
        for start in range(0, flat.numel(), _CHUNK):
            piece = slice(start, start + _CHUNK)
            mine, theirs = left[piece].double(), right[piece].to(got.device).double()
            if tolerance.rule == "allclose":
                limit: torch.Tensor | float = tolerance.absolute + tolerance.relative * theirs.abs()
            else:
                limit = times * allowed * scale
            near = (mine - theirs).abs() <= limit
            flat[piece] = ~(near | (mine == theirs) | (mine.isnan() & theirs.isnan()))
        if bool(mask.any()):
            return mask
    return None


def _scale(due: torch.Tensor, device: torch.device) -> float:
    """Its root mean square, computed on `device` in pieces: it may lie in host memory, and have no room here."""
    squares = 0.0
    for piece in due.reshape(-1).split(_CHUNK):
        finite = piece.to(device).nan_to_num(0.0, 0.0, 0.0).double()
        squares += float(torch.dot(finite, finite))
    size = math.sqrt(squares / due.numel())
    return size if 0 < size < math.inf else 1.0


def _ranges(mask: torch.Tensor) -> Iterator[tuple[int, int]]:
    for places in _places(mask):
        yield int(places[0]), int(places[-1])


def _places(mask: torch.Tensor) -> Iterator[torch.Tensor]:
    """In each dimension, the indices with a wrong element."""
    for dimension in range(mask.dim()):
        others = [other for other in range(mask.dim()) if other != dimension]
        yield (mask.any(dim=others) if others else mask).nonzero().view(-1)


def _first(got: torch.Tensor, due: torch.Tensor, mask: torch.Tensor) -> Iterator[WrongElement]:
    rest = mask.view(-1)
    at = -1
    for _ in range(_SHOWN):
        following = rest[at + 1 :]
        if not bool(following.any()):
            return
        at += 1 + int(following.view(torch.uint8).argmax())
        place = tuple(int(part) for part in torch.unravel_index(torch.tensor(at), got.shape)) if got.dim() else ()
        yield WrongElement(index=place, got=got.reshape(-1)[at].item(), due=due.reshape(-1)[at].item())


def _hints(got: torch.Tensor, due: torch.Tensor, mask: torch.Tensor) -> Iterator[str]:
    yield from _lying(mask)
    rows = got.shape[0] if got.dim() else 1
    kept = max(1, _MOST_ELEMENTS * rows // got.numel())
    if got.dim() and kept < rows:
        got, due, mask = got[:kept], due[:kept], mask[:kept]
    if got.numel() > _MOST_ELEMENTS or not bool(mask.any()):
        return
    got, due = got.double(), due.to(got.device).double()
    yield from _values(got[mask], due[mask])
    if bool(got.isfinite().all()) and bool(due.isfinite().all()):
        yield from _formulas(got, due)
        yield from _orders(got, due)


def _lying(mask: torch.Tensor) -> Iterator[str]:
    """Where they lie: a tail, a stripe, every so many."""
    flat = mask.view(-1)
    start = int(flat.view(torch.uint8).argmax())
    if mask.dim() > 1 and start % mask[0].numel() and bool(flat[start:].all()):
        yield f"everything from element {start} of {flat.numel()} on (in memory order) is wrong: a tail"
    for dimension, (places, size) in enumerate(zip(_places(mask), mask.shape, strict=True)):
        low, high = int(places[0]), int(places[-1])
        if len(places) == size:
            continue
        where = f"dimension {dimension} (of size {size})"
        if high == size - 1 and len(places) == size - low:
            yield f"only indices from {low} on in {where}: a tail, as of a last block that is not full"
        elif len(places) == 1:
            yield f"only index {low} in {where}"
        elif (
            len(places) > 2
            and len(set((places[1:] - places[:-1]).tolist())) == 1
            and (step := int(places[1] - places[0])) > 1
        ):
            yield f"every {step}th index from {low} on in {where}"
        elif len(places) == high - low + 1:
            yield f"only indices {low} to {high} in {where}"


def _values(got: torch.Tensor, due: torch.Tensor) -> Iterator[str]:
    """What stands there."""
    broken = ~got.isfinite() & due.isfinite()
    if bool(broken.any()):
        yield f"{int(broken.sum())} of the wrong elements are NaN or infinite"
    elif bool((got == 0).all()):
        yield "all wrong elements are zero: were they written at all?"
    elif len(got) > 1 and bool((got == got[0]).all()):
        yield f"all wrong elements are {float(got[0]):.6g}"


def _formulas(got: torch.Tensor, due: torch.Tensor) -> Iterator[str]:
    """Whether a factor or a shift makes it right, the same everywhere or one for each index of a dimension."""
    error = float((got - due).square().sum())
    if error == 0 or got.numel() < 2:
        return

    def explains(corrected: torch.Tensor) -> bool:
        return float((corrected - due).square().sum()) < (1 - _EXPLAINED) * error

    for dimensions, where in _broadcasts(got):
        power = (due * due).sum(dimensions, keepdim=True)
        factor = (got * due).sum(dimensions, keepdim=True) / power.where(power > 0, torch.ones_like(power))
        shift = (got - due).mean(dimensions, keepdim=True)
        if explains(got / factor.where(factor != 0, torch.ones_like(factor))):
            which = f"{float(factor):.6g} times the right output" if not where else f"right but for a factor {where}"
            yield f"the output is {which}"
            return
        if explains(got - shift):
            which = f"the right output plus {float(shift):.6g}" if not where else f"right but for a term {where}"
            yield f"the output is {which}"
            return


def _broadcasts(got: torch.Tensor) -> Iterator[tuple[list[int], str]]:
    """Dimensions that share one number, and which one has a number for each index."""
    every = list(range(got.dim()))
    yield every, ""
    for kept in every:
        others = [each for each in every if each != kept]
        if others and 1 < got.shape[kept] < got.numel() and math.prod(got.shape[each] for each in others) > 2:
            yield others, f"for each index of dimension {kept}"


def _orders(got: torch.Tensor, due: torch.Tensor) -> Iterator[str]:
    """Whether the right numbers stand in other places."""
    error = float((got - due).square().sum())

    def same(other: torch.Tensor) -> bool:
        return float((got - other).square().sum()) < (1 - _EXPLAINED) * error

    if got.dim() >= 2 and min(got.shape[-2:]) > 1:
        turned = due.transpose(-1, -2)
        if got.shape[-1] == got.shape[-2] and same(turned):
            yield "the output is the right one transposed in its last two dimensions"
        elif same(turned.reshape(got.shape)):
            yield "the output holds the right numbers in column order: its last two dimensions are swapped in memory"
    for dimension, size in enumerate(got.shape):
        for step in (1, -1) if size > 1 else ():
            if same(due.roll(step, dimension)):
                yield f"the output is the right one, moved by {step:+d} along dimension {dimension}"
        if size > 2 and same(due.flip(dimension)):
            yield f"the output is the right one, reversed along dimension {dimension}"

"""How far one output is from another, and whether that is near enough.

Errors are root mean squares relative to the root mean square of the expected output, in float64. A candidate's error
is bounded by a multiple of what eager PyTorch itself makes of the same inputs: honest rewrites stay within 2.5 times,
TF32 or half precision is 300 times and more away, so one factor separates them on every problem without a tolerance
chosen by hand.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch

from kernelgauge.checks import one_pass
from kernelgauge.checks.one_pass import Totals
from kernelgauge.config import Tolerance

# Of the coarse floor, for the single worst element.
_COARSE_WORST = 100
# Elements looked at together: few enough for the temporaries to stay in a CPU's cache; on a GPU, enough to fill it.
_CHUNK = {"cpu": 1 << 17, "cuda": 1 << 24}
_LOOKED_AT = 1 << 26


@dataclass(frozen=True)
class Distance:
    """How far an output is from the expected one.

    `rms` and `worst` are relative to the scale of the expected output; both infinite where finite and non-finite
    elements do not match; 1 or more where an integer or boolean element differs.
    """

    rms: float
    worst: float
    where: str = ""
    """The worst element in words, for the reason on the record."""


def _index(flat: int, shape: Sequence[int]) -> str:
    place = []
    for size in reversed(shape):
        flat, rest = divmod(flat, size)
        place.append(rest)
    return "[" + ", ".join(map(str, reversed(place))) + "]"


def _chunks(*tensors: torch.Tensor) -> Iterable[tuple[int, list[torch.Tensor]]]:
    """Pieces of them side by side; where some lie in host memory and others on a device, all pieces on that."""
    flat = [tensor.reshape(-1) for tensor in tensors]
    device = next((tensor.device for tensor in tensors if tensor.device.type != "cpu"), tensors[0].device)
    length = _CHUNK.get(device.type, 1 << 17)
    for start in range(0, flat[0].numel(), length):
        yield start, [tensor[start : start + length].to(device) for tensor in flat]


def all_finite(tensor: torch.Tensor) -> bool:
    """Whether no element is infinite or NaN; in pieces, since looking takes twice the memory of what is looked at."""
    return all(bool(piece.isfinite().all()) for piece in tensor.reshape(-1).split(_LOOKED_AT))


def _exact(output: torch.Tensor, expected: torch.Tensor) -> Distance:
    apart = output.device != expected.device
    count, at = 0, -1
    for start, (got, due) in _chunks(output, expected) if apart else [(0, [output, expected])]:
        differs = (got != due).reshape(-1)
        here = int(differs.sum())
        if here and not count:
            at = start + int(differs.nonzero()[0])
        count += here
    if count == 0:
        return Distance(0.0, 0.0)
    first, right = output.reshape(-1)[at].item(), expected.reshape(-1)[at].item()
    where = (
        f"element {_index(at, output.shape)} is {first} where {right} is right; {count} of {output.numel()} differ"
    )
    return Distance(1.0 + count / output.numel(), 1.0, where)


@dataclass
class _Sums:
    """Running sums over the chunks of one output."""

    squared_error: float = 0.0
    squared_due: float = 0.0
    worst: float = -1.0
    worst_chunk: tuple[int, torch.Tensor, torch.Tensor] | None = None
    """First index, output and expected output of the chunk with the worst element."""
    skipped: int = 0
    """Elements that are infinite or NaN on both sides alike."""
    mismatch_at: int | None = None
    """First element that is finite on one side only."""

    def add(self, start: int, got: torch.Tensor, due: torch.Tensor) -> None:
        # A difference in float32 loses less than a ten-millionth of itself, and costs half the memory traffic.
        common = torch.promote_types(torch.promote_types(got.dtype, due.dtype), torch.float32)
        difference = got.to(common) - due.to(common)
        squared = _sum_of_squares(difference)
        if not math.isfinite(squared):
            difference = self._without_matching_infinities(start, got, due, difference)
            due = due.where(due.isfinite(), torch.zeros_like(due))
            squared = _sum_of_squares(difference)
        self.squared_error += squared
        self.squared_due += _sum_of_squares(due)
        peak = float(max(map(abs, torch.aminmax(difference))))
        if peak > self.worst:
            self.worst, self.worst_chunk = peak, (start, got, due)

    @property
    def worst_at(self) -> int:
        """Index of the worst element: looked for in its chunk alone."""
        assert self.worst_chunk is not None
        start, got, due = self.worst_chunk
        return start + int((got - due).abs_().nan_to_num_(0.0, 0.0).argmax())

    def _without_matching_infinities(
        self, start: int, got: torch.Tensor, due: torch.Tensor, difference: torch.Tensor
    ) -> torch.Tensor:
        matching = (got == due) | (got.isnan() & due.isnan())
        finite = difference.isfinite()
        wrong = ~(matching | finite)
        if self.mismatch_at is None and wrong.any():
            self.mismatch_at = start + int(wrong.nonzero()[0])
        self.skipped += int((matching & ~finite).sum())
        return difference.where(finite, torch.zeros_like(difference))


def _sum_of_squares(values: torch.Tensor) -> float:
    """In float64. A product of BLAS takes a third of the time of `vector_norm` on a CPU."""
    wide = values.double()
    return float(torch.dot(wide, wide))


def _totals(output: torch.Tensor, expected: torch.Tensor) -> Totals:
    sums = _Sums()
    for start, (got, due) in _chunks(output, expected):
        sums.add(start, got, due)
    return Totals(sums.squared_error, sums.squared_due, sums.worst, sums.worst_at, sums.skipped, sums.mismatch_at)


def _floating(output: torch.Tensor, expected: torch.Tensor) -> Distance:
    if output.numel() == 0:
        return Distance(0.0, 0.0)
    sums = one_pass.totals(output, expected) or _totals(output, expected)
    if sums.mismatch_at is not None:
        return Distance(math.inf, math.inf, _in_words(output, expected, sums.mismatch_at))
    count = max(output.numel() - sums.skipped, 1)
    scale = math.sqrt(sums.squared_due / count)
    scale = scale if 0 < scale < math.inf else 1.0
    rms = math.sqrt(sums.squared_error / count) / scale
    return Distance(rms, sums.worst / scale, _in_words(output, expected, sums.worst_at))


def _in_words(output: torch.Tensor, expected: torch.Tensor, at: int) -> str:
    got, due = output.reshape(-1)[at].item(), expected.reshape(-1)[at].item()
    return f"element {_index(at, output.shape)} is {got:.7g} where {due:.7g} is right"


def _one(output: torch.Tensor, expected: torch.Tensor) -> Distance:
    if output.is_complex():
        return _floating(torch.view_as_real(output), torch.view_as_real(expected))
    return _floating(output, expected) if output.is_floating_point() else _exact(output, expected)


def distances(outputs: Sequence[torch.Tensor], expected: Sequence[torch.Tensor]) -> list[Distance]:
    """The distance of each output of a forward; shapes must be equal, float precisions may differ, and so may the
    devices they lie on: then they are compared in pieces."""
    return [_one(output, due) for output, due in zip(outputs, expected, strict=True)]


@dataclass(frozen=True)
class Allowance:
    """What a protocol allows for one output."""

    rms: float
    worst: float

    def accepts(self, found: Distance) -> bool:
        return found.rms <= self.rms and found.worst <= self.worst

    def used(self, found: Distance) -> float:
        """How much of the allowance an error takes: above 1 it is refused."""
        return max(found.rms / self.rms, found.worst / self.worst)


def allowance(tolerance: Tolerance, eager: Distance, variant: str = "own") -> Allowance:
    """Rule `oracle`: multiples of eager's own error, with floors for scalars and exact operations.

    Args:
        variant: of the inputs; under `large` ones the floors are coarse.
    """
    multiple, worst_multiple = tolerance.multiples
    coarse = tolerance.coarse if variant == "large" else 0.0
    return Allowance(
        max(multiple * eager.rms, tolerance.floor, coarse),
        max(worst_multiple * eager.worst, tolerance.worst_floor, _COARSE_WORST * coarse),
    )


# Of the spread between forwards with other noise: a scalar's error is near zero or far from it by luck.
_SPREADS = 6.0


def honest_allowance(
    tolerance: Tolerance, draws: Sequence[Distance], usual: Allowance, times: float = 1.0
) -> Allowance:
    """What to allow where honest float32 arithmetic was found to err so.

    Args:
        draws: its errors in one output, in forwards with other noise.
        usual: what is allowed anyway.
        times: the most that a protocol allows so.
    """
    return Allowance(
        max(usual.rms, min(_most([draw.rms for draw in draws], tolerance), times * tolerance.honest_most)),
        max(usual.worst, min(_most([draw.worst for draw in draws], tolerance), tolerance.honest_worst)),
    )


def _most(errors: Sequence[float], tolerance: Tolerance) -> float:
    """Nearly proportional to their size where they are alike, some standard deviations where they are luck."""
    mean = sum(errors) / len(errors)
    square = sum(error * error for error in errors) / len(errors)
    return tolerance.honest_multiple * math.sqrt(square) + _SPREADS * math.sqrt(max(square - mean * mean, 0.0))


def closeness(
    outputs: Sequence[torch.Tensor], expected: Sequence[torch.Tensor], tolerance: Tolerance
) -> list[Distance]:
    """Rule `allclose`, per output: largest |got - due| / (absolute + relative |due|); 1 is the tolerance."""
    return [_closeness(output, due, tolerance) for output, due in zip(outputs, expected, strict=True)]


def _closeness(output: torch.Tensor, expected: torch.Tensor, tolerance: Tolerance) -> Distance:
    if output.is_complex():
        output, expected = torch.view_as_real(output), torch.view_as_real(expected)
    worst, where = 0.0, ""
    for start, (got, right) in _chunks(output, expected):
        allowed = tolerance.absolute + tolerance.relative * right.double().abs()
        ratio = ((got.double() - right.double()).abs() / allowed).nan_to_num(nan=math.inf, posinf=math.inf)
        ratio[(got == right) | (got.isnan() & right.isnan())] = 0.0
        if float(ratio.max()) > worst:
            worst = float(ratio.max())
            where = _in_words(output, expected, start + int(ratio.argmax()))
    return Distance(worst, worst, where)

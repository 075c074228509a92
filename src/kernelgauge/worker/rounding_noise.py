"""Monte-Carlo arithmetic at the level of operators: a float64 forward that errs as an honest float32 one may.

To what each operator returns, random noise is added: of the size that the longest honest chain of float32 additions
makes where an operator accumulates (`checks.accumulation`), of one rounding elsewhere. What is then found in the
output has gone through the rest of the forward, with its cancellation and its averages.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from kernelgauge.checks.accumulation import Variances, lost, lost_off_the_grid, of_sum, of_terms
from kernelgauge.worker.accumulating_operators import ACCUMULATING, ELEMENTWISE, sum_of_squares
from kernelgauge.worker.called_operators import Mode, name_of

# Elements that get their noise together: few, as full-size outputs leave little room.
_CHUNK = {"cpu": 1 << 20, "cuda": 1 << 25}
_DRAWN = "_kernelgauge_drawn"
"""Marks a tensor that holds inputs as they were drawn, or moved or with other signs."""

_EXACT = frozenset(
    (
        "_unsafe_view",
        "_to_copy",
        "clone",
        "copy_",
        "cat",
        "stack",
        "index",
        "gather",
        "embedding",
        "select_scatter",
        "slice_scatter",
        "constant_pad_nd",
        "where",
        "masked_fill",
        "masked_fill_",
        "flip",
        "roll",
        "repeat",
        "neg",
        "neg_",
        "abs",
        "abs_",
        "relu",
        "relu_",
        "sign",
        "tril",
        "triu",
        "index_select",
        "max_pool2d_with_indices",
        "max_pool3d_with_indices",
        "max",
        "min",
        "amax",
        "amin",
        "maximum",
        "minimum",
        "clamp",
        "clamp_min",
        "clamp_max",
        "clamp_",
        "clamp_min_",
        "clamp_max_",
        "hardtanh",
        "hardtanh_",
        "zero_",
        "fill_",
        "sort",
        "topk",
        "floor",
        "ceil",
        "round",
        "empty_like",
        "zeros_like",
        "ones_like",
        "new_zeros",
        "new_empty",
        "new_ones",
        "full_like",
        "bernoulli",
        "bernoulli_",
        "native_dropout",
        "uniform_",
        "normal_",
    )
)
_KEEPS_DRAWN = frozenset(
    (
        "_unsafe_view",
        "clone",
        "cat",
        "flip",
        "roll",
        "neg",
        "abs",
        "masked_fill",
        "where",
        "slice",
        "constant_pad_nd",
    )
)


def _is_view(operator: Any) -> bool:
    return any(r.alias_info is not None and not r.alias_info.is_write for r in operator._schema.returns)


def _tensors(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    return [each for item in value for each in _tensors(item)] if isinstance(value, list | tuple) else []


class RoundingNoise(Mode):
    """While entered, what operators return in float64 is off by what honest float32 arithmetic may make of it.

    Args:
        generator: of the noise, on the device; the forward's own random numbers stay what they are.
        off_the_grid: whether inputs are `offgrid` ones, whose plain sums float32 rounds to one side.
        variances: `one_pass` gives them the error of the mean of squares that a kernel may take them from,
            `two_pass` that of the squared deviations; as `usual` the former inside normalisations alone.
    """

    def __init__(self, generator: torch.Generator, off_the_grid: bool = False, variances: Variances = "usual"):
        super().__init__()
        self._generator = generator
        self._off_the_grid = off_the_grid
        self.variances = variances
        self.normalised = False
        """Whether `offgrid` inputs themselves were normalised."""
        self._attention = sdpa_kernel(SDPBackend.MATH)  # fused, it would hide its sums

    def __enter__(self) -> RoundingNoise:
        self._attention.__enter__()
        super().__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self._attention.__exit__(*error)

    def mark(self, values: Any) -> None:
        """Say that the tensors among some values are inputs as drawn."""
        for tensor in _tensors(values):
            setattr(tensor, _DRAWN, True)

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        name = name_of(func)
        given = _tensors(list(args))
        if _is_view(func) or name in _EXACT:
            if name in _KEEPS_DRAWN or _is_view(func):
                self._pass_on(given, result)
            return result
        if not given:
            return result
        outputs = [each for each in _tensors(result) if each.is_floating_point() and each.numel()]
        if not outputs:
            return result
        accumulates = ACCUMULATING.get(name)
        if accumulates is not None:
            accumulates(self, outputs, args, kwargs or {})
        else:
            for output in outputs:
                self.add(output, ELEMENTWISE)
        if name == "mul" and len(given) == 2 and not given[1].is_floating_point():
            self._pass_on(given[:1], result)  # a mask
        return result

    def _pass_on(self, given: Sequence[torch.Tensor], result: Any) -> None:
        if any(getattr(each, _DRAWN, False) for each in given):
            self.mark(result)

    def off_the_grid(self, tensor: torch.Tensor) -> bool:
        """Whether a tensor holds `offgrid` inputs."""
        return self._off_the_grid and getattr(tensor, _DRAWN, False)

    def normal(self, like: torch.Tensor, shape: Sequence[int]) -> torch.Tensor:
        """Standard normal numbers of this shape, of the same type and device as `like`."""
        return torch.randn(list(shape), generator=self._generator, dtype=like.dtype, device=like.device)

    def side(self, like: torch.Tensor) -> torch.Tensor:
        """Plus or minus one: to which side an error goes that is the same everywhere."""
        bit = torch.randint(0, 2, (), generator=self._generator, device=like.device)
        return bit.to(like.dtype) * 2 - 1

    def add(
        self, values: torch.Tensor, relative: float, squares: torch.Tensor | None = None, same: float = 0
    ) -> None:
        """Noise of that root mean square relative to each value, of the `squares` beside it, and one factor for all.

        Args:
            squares: further squared sizes, absolute; broadcast to the values' shape.
            same: a factor of this size, plus or minus, for all values alike.
        """
        if same:
            values.mul_(1 + same * self.side(values))
        if squares is None:
            for piece in self._pieces(values):
                piece.addcmul_(piece, self.normal(piece, piece.shape), value=relative)
            return
        sizes = squares.expand(values.shape) if squares.dim() else squares
        for rows, piece in self._rows(values):
            more = sizes[rows] if sizes.dim() else sizes
            size = (piece.square().mul_(relative * relative) + more).sqrt_()
            piece.add_(size.mul_(self.normal(piece, piece.shape)))

    def _pieces(self, values: torch.Tensor) -> Sequence[torch.Tensor]:
        if values.is_contiguous():
            return torch.split(values.view(-1), _CHUNK.get(values.device.type, 1 << 20))
        return [piece for _, piece in self._rows(values)]

    def _rows(self, values: torch.Tensor) -> list[tuple[slice, torch.Tensor]]:
        """Slices of the first dimension, each with as many elements as get their noise together."""
        if not values.dim():
            return [(slice(None), values.unsqueeze(0))]
        step = max(1, _CHUNK.get(values.device.type, 1 << 20) * len(values) // values.numel())
        return [(slice(at, at + step), values[at : at + step]) for at in range(0, len(values), step)]

    def sum_of(self, output: torch.Tensor, terms: torch.Tensor, dim: list[int], mean: bool) -> None:
        """Noise of a sum, or mean, of `terms` over these dimensions."""
        count = math.prod(terms.shape[each] for each in dim)
        keep = output.dim() == terms.dim() and terms.dim() > 0
        squares = sum_of_squares(terms, dim, keep).mul_(of_terms(count) ** 2 / (count**2 if mean else 1))
        drawn = self.off_the_grid(terms)
        same = max(lost(count, squares=True), lost_off_the_grid(count) if drawn else 0)
        self.add(output, of_sum(count), squares, same)

    def of_positive(self, output: torch.Tensor, count: int, times: float = 1.0, squares: bool = True) -> None:
        """Noise of a sum of positive terms, of which `output` is some power."""
        self.add(output, times * of_terms(count), same=times * lost(count, squares))

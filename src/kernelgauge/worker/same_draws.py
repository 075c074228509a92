"""Random numbers of a float64 forward: those that the forward gets in its own precision.

From one seed PyTorch draws other numbers for float64 than for float32, on a GPU at least. A reference with an active
dropout would then have no right answer in float64 to be held against.
"""

from __future__ import annotations

from typing import Any

import torch

from kernelgauge.worker.called_operators import Mode, name_of

_DROPOUT = "native_dropout"
_FACTORIES = frozenset(("rand", "randn"))
_LIKE_A_TENSOR = frozenset(
    (
        "bernoulli",
        "bernoulli_",
        "cauchy_",
        "exponential_",
        "log_normal_",
        "normal_",
        "rand_like",
        "randn_like",
        "uniform_",
    )
)


class SameDraws(Mode):
    """While entered, what a forward draws in float64 is drawn in another type, and turned into float64.

    Args:
        dtype: the forward's own, in which tensors like its others are drawn; those like none in float32.
    """

    def __init__(self, dtype: torch.dtype):
        super().__init__()
        self._dtype = dtype

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs, name = dict(kwargs or {}), name_of(func)
        if name in _FACTORIES and kwargs.get("dtype") in (None, torch.float64):
            return func(*args, **kwargs | {"dtype": torch.float32}).double()
        if not (args and isinstance(args[0], torch.Tensor) and args[0].dtype is torch.float64):
            return func(*args, **kwargs)
        value, *others = args
        if name == _DROPOUT:
            share = others[0]
            _, kept = func(value.to(self._dtype), *others, **kwargs)
            return value * kept * (1 / (1 - share) if share < 1 else 0.0), kept
        if name not in _LIKE_A_TENSOR or kwargs.get("dtype") not in (None, torch.float64):
            return func(*args, **kwargs)
        kwargs.pop("dtype", None)  # that of the tensor
        drawn = func(value.to(self._dtype), *others, **kwargs)
        return value.copy_(drawn) if func._schema.is_mutable else drawn.double()

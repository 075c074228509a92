"""Random parameters on both sides alike (protocol `strict`).

Under default initialisers a norm's gain is one and its bias zero, so a kernel that ignores them is right to the bit.
While this context is open, everything PyTorch fills with a constant on construction is drawn at random instead, from
the global generator. Reference and candidate construct under the same seed and so come out equal, even where an
honest candidate packs or folds its weights inside `__init__`, which a `load_state_dict` afterwards would undo.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch.nn.modules.batchnorm import _NormBase

Randomise = Mapping[str, float]
"""The arguments of `randomised`, as `schema.ParameterDraws` has them. None in their place: as PyTorch draws them."""

_CONSTANT, _DRAWN = "_kernelgauge_constant", "_kernelgauge_drawn"
_RANDOM = ("uniform_", "normal_", "kaiming_uniform_", "kaiming_normal_", "xavier_uniform_", "xavier_normal_")


def _scatter(tensor: torch.Tensor, centre: float) -> torch.Tensor:
    """Random values around what was a constant: far enough from it that ignoring them shows."""
    with torch.no_grad():
        if not tensor.is_floating_point():
            return tensor.fill_(centre)
        noise = torch.rand(tensor.shape, dtype=torch.float32)
        return tensor.copy_(centre + (noise - 0.5) * (abs(centre) if centre else 1.0))


def _random_statistics(self: Any) -> None:
    if self.track_running_stats:
        _scatter(self.running_mean, 0.0)
        _scatter(self.running_var, 1.0)
        self.num_batches_tracked.zero_()


def _amplified(initialiser: Any, gain: float, bias: float) -> Any:
    def fill(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        drawn: torch.Tensor = initialiser(tensor, *args, **kwargs)
        with torch.no_grad():
            return drawn.mul_(gain).add_(bias if drawn.dim() == 1 else 0.0)

    return fill


def _marking(factory: Any, mark: str) -> Any:
    def make(*args: Any, **kwargs: Any) -> Any:
        made = factory(*args, **kwargs)
        setattr(made, mark, True)
        return made

    return make


def _parameter_new(original: Any, factor: float) -> Any:
    def new(cls: Any, data: Any = None, requires_grad: bool = True) -> Any:
        if cls is nn.Parameter and isinstance(data, torch.Tensor) and data.is_floating_point() and data.numel():
            if getattr(data, _CONSTANT, False):
                _scatter(data, float(data.flatten()[0]))
            elif getattr(data, _DRAWN, False):
                data.mul_(factor)
        return original(cls, data, requires_grad)

    return new


@contextmanager
def randomised(gain: float = 1.0, bias: float = 0.0, drawn: float = 1.0) -> Iterator[None]:
    """While open, constant initialisers and `nn.Parameter(torch.ones/zeros/full(...))` draw at random.

    Args:
        gain, bias, drawn: as in `schema.ParameterDraws`.
    """
    saved: list[tuple[Any, str, Any]] = []

    def replace(owner: Any, name: str, value: Any) -> None:
        saved.append((owner, name, owner.__dict__[name]))
        setattr(owner, name, value)

    fill: dict[str, Any] = {
        "ones_": lambda tensor: _scatter(tensor, 1.0),
        "zeros_": lambda tensor: _scatter(tensor, 0.0),
        "constant_": lambda tensor, val: _scatter(tensor, float(val)),
    }
    for name, function in fill.items():
        replace(nn.init, name, function)
    replace(nn.modules.activation, "constant_", fill["constant_"])  # attention imports the function by name
    # transformers 5 keeps the originals in a table of its own, filled when it is imported.
    table = getattr(sys.modules.get("transformers.initialization"), "TORCH_INIT_FUNCTIONS", {})
    originals = {name: table[name] for name in fill if name in table}
    table.update({name: fill[name] for name in originals})
    replace(_NormBase, "reset_running_stats", _random_statistics)
    if (gain, bias) != (1.0, 0.0):
        for name in _RANDOM:
            replace(nn.init, name, _amplified(getattr(nn.init, name), gain, bias))
    for name, mark in {**dict.fromkeys(("ones", "zeros", "full"), _CONSTANT), "randn": _DRAWN}.items():
        replace(torch, name, _marking(getattr(torch, name), mark))
    replace(nn.Parameter, "__new__", staticmethod(_parameter_new(nn.Parameter.__new__, drawn)))
    try:
        yield
    finally:
        table.update(originals)
        for owner, name, value in reversed(saved):
            setattr(owner, name, value)

"""Which bytes any right kernel must move: an input element that alone changes the output must have been read.

Were it not read, the kernel's output would be the same after the change, and wrong. A gradient other than zero says
that a small change of that element, all others held fixed, changes the output. This misses elements (the losers of a
maximum, whatever a shut ReLU hides), never the other way round, given that

- the element can take other values: inputs of domain `fixed` (triangular, symmetric, one-hot) count nothing, nor do
  integers and masks, and what is constant along a dimension counts once;
- the effect is neither too small for float32 nor rounding left over from a cancellation: the gradient is computed in
  float64 and must be well above both, and the output must be the same number in float32.

Parameters count nothing: they are known before the clock starts, and can be folded into something smaller. Of outputs
those elements count that other inputs change (the zeros of a triangle can be there before), and no more than is left
if every dimension along which an output is constant were a view; nothing where the reference itself returns a view.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from math import hypot, sqrt
from pathlib import Path
from typing import Any

import torch
from torch.linalg import vector_norm

from kernelgauge.backends.loading import import_file
from kernelgauge.checks.inputs import classify
from kernelgauge.config import MathMode
from kernelgauge.schema import Domain
from kernelgauge.wire.initialisers import randomised
from kernelgauge.wire.math_modes import cast
from kernelgauge.wire.outputs import flatten
from kernelgauge.worker.bytes_read import storage_of

_DRAWS = 3
# Of the output, or of the largest effect of an element: float32 has 6e-8, so less than this may go unnoticed.
_NOTICED = 1e-6
# Of an output: where float32 and float64 differ by more, the output is itself what cancellation left.
_SAME_NUMBER = 1e-2
_SAMPLED = 1 << 16


def certain(path: Path, domains: Mapping[str, Domain], device: str, math: MathMode, seed: int) -> dict[str, int]:
    """Bytes of `inputs` and `outputs` that must move at the sizes in the text, the least of several draws.

    The first draw has the parameters as the constructor makes them, the others have constant ones randomised.
    """
    module = import_file(path, "problem")
    draws = ((torch.device(device), math, seed + 2 * n, n > 0) for n in range(_DRAWS))
    found = [_Draw(module, domains, *draw).bytes() for draw in draws]
    return {"inputs": min(inputs for inputs, _ in found), "outputs": min(outputs for _, outputs in found)}


class _Draw:
    """A model and two draws of its inputs."""

    def __init__(
        self,
        module: Any,
        domains: Mapping[str, Domain],
        device: torch.device,
        math: MathMode,
        seed: int,
        randomise: bool,
    ):
        torch.manual_seed(seed)
        with torch.no_grad(), randomised() if randomise else nullcontext():
            self._model = cast(module.Model(*module.get_init_inputs()).to(device), math)
        with device:
            self._inputs, other = ([cast(value, math) for value in module.get_inputs()] for _ in range(2))
        names = module.Model.forward.__code__.co_varnames[1:]
        pairs = zip(self._inputs, other, strict=True)
        known = [domains.get(names[i] if i < len(names) else "", "") for i in range(len(other))]
        self._domains = [domain or classify(*pair) for domain, pair in zip(known, pairs, strict=True)]
        with torch.no_grad():
            given = _copies(self._inputs)
            self._outputs = flatten(self._model(*given))
            self._others = flatten(self._model(*_copies(other)))
        owned = (*self._model.parameters(), *self._model.buffers(), *filter(_is_tensor, given))
        self._taken = {storage_of(tensor) for tensor in owned}

    def bytes(self) -> tuple[int, int]:
        """Of inputs and of outputs."""
        outputs = self._output_bytes()
        self._sample = _sample(self._outputs)
        self._outputs, self._others = [], []
        try:
            return self._input_bytes(), outputs
        except Exception:  # boundary: the problem's own code, which need not be differentiable or fit in float64
            return 0, outputs

    def _output_bytes(self) -> int:
        counted: list[torch.Tensor] = []
        total = 0
        for output, other in zip(self._outputs, self._others, strict=True):
            if storage_of(output) not in self._taken and not any(_same(output, each) for each in counted):
                own = output.untyped_storage().nbytes() // output.element_size()
                total += min(_differing(output, other), _distinct(output), own) * output.element_size()
            counted.append(output)
            self._taken.add(storage_of(output))
        return total

    def _input_bytes(self) -> int:
        """A published input may have gigabytes, and this five times as many: nothing is copied that need not be."""
        given = [
            value.double().requires_grad_(domain in ("real", "positive")) if _is_float(value) else value
            for value, domain in zip(self._inputs, self._domains, strict=True)
        ]
        asked = [i for i, value in enumerate(given) if _is_tensor(value) and value.requires_grad]
        if not asked:
            return 0
        before = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        try:
            found = flatten(self._model.double()(*given))
        finally:
            torch.set_default_dtype(before)
        outputs = [tensor for tensor in found if tensor.requires_grad]
        exact = _sample(found)
        if not outputs or not (exact - self._sample).norm() <= _SAME_NUMBER * exact.norm():
            return 0
        scale = hypot(*(float(vector_norm(output.detach())) for output in outputs))
        weights = [torch.randn_like(output) for output in outputs]
        gradients = torch.autograd.grad(outputs, [given[i] for i in asked], weights, allow_unused=True)
        total = 0
        for i, gradient in zip(asked, gradients, strict=True):
            if gradient is not None:
                changing = _changing(gradient, float(vector_norm(given[i].detach())), scale)
                total += min(changing, _distinct(self._inputs[i])) * self._inputs[i].element_size()
        return total


def _changing(gradient: torch.Tensor, norm: float, scale: float) -> int:
    """Elements with an effect that float32 shows: all together on the outputs, each beside the largest of them.

    Args:
        norm: of the input.
        scale: norm of the outputs.
    """
    if not float(vector_norm(gradient)) * norm / sqrt(gradient.numel()) > _NOTICED * scale:
        return 0
    low, high = (float(extreme) for extreme in torch.aminmax(gradient))
    least = _NOTICED * max(-low, high)
    return int((gradient > least).sum()) + int((gradient < -least).sum())


def _differing(output: torch.Tensor, other: torch.Tensor) -> int:
    return int((output != other).sum()) if output.shape == other.shape else output.numel()


def _sample(tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    """Elements of each tensor at even distances, in float64."""
    taken = [tensor.detach().flatten()[:: max(tensor.numel() // _SAMPLED, 1)].double() for tensor in tensors]
    return torch.cat(taken)


def _distinct(tensor: torch.Tensor) -> int:
    """Elements left if every dimension along which the values repeat is taken once."""
    for dim in range(tensor.dim()):
        if tensor.shape[dim] > 1 and _same(tensor, tensor.narrow(dim, 0, 1).expand_as(tensor)):
            tensor = tensor.narrow(dim, 0, 1)
    return tensor.numel()


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    return one.shape == other.shape and one.dtype == other.dtype and torch.equal(one, other)


def _is_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor)


def _is_float(value: Any) -> bool:
    return _is_tensor(value) and value.is_floating_point()


def _copies(values: Sequence[Any]) -> list[Any]:
    """Forward may write to what it is given."""
    return [value.clone() if _is_tensor(value) else value for value in values]

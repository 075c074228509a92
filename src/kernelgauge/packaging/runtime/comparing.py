"""Whether two answers of a model are the same: how far they may be apart, and under which draws they are made."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils._pytree import tree_flatten

SEED = 0
# By root mean square relative to the answer: some ten roundings of the narrower types.
_TOLERANCES = {torch.bfloat16: 3e-2, torch.float16: 5e-3}
_OTHERWISE = 1e-3


def tolerance_of(model: torch.nn.Module, answer: Any) -> float:
    """How far answers may be apart by default: what the narrowest type in a model or its answer asks for."""
    tensors = [*model.parameters(), *model.buffers(), *_tensors(answer)]
    return max((_TOLERANCES.get(each.dtype, _OTHERWISE) for each in tensors), default=_OTHERWISE)


@contextmanager
def same_draws() -> Iterator[None]:
    """While open, what is drawn is what is drawn every other time, as by dropout; afterwards all is as before."""
    gpus = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else ()
    with torch.random.fork_rng(gpus):
        torch.default_generator.manual_seed(SEED)
        if gpus:
            torch.cuda.manual_seed_all(SEED)
        yield


def comparable(answer: Any) -> bool:
    """Whether there is anything in an answer to compare."""
    return bool(_tensors(answer))


def close(found: Any, wanted: Any, tolerance: float) -> bool:
    """Whether an answer has tensors, and all are as another one's, by root mean square relative to that."""
    one, other = _tensors(found), _tensors(wanted)
    return len(one) == len(other) > 0 and all(_near(a, b, tolerance) for a, b in zip(one, other, strict=True))


def _tensors(answer: Any) -> list[torch.Tensor]:
    return [each for each in tree_flatten(answer)[0] if isinstance(each, torch.Tensor)]


def _near(found: torch.Tensor, wanted: torch.Tensor, tolerance: float) -> bool:
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        return False
    if not wanted.is_floating_point():
        return torch.equal(found, wanted)
    finite = wanted.isfinite()
    # An infinity, or what is no number, is the very same or is another answer.
    if not torch.equal(found.isfinite(), finite) or not torch.equal(_signs(found[~finite]), _signs(wanted[~finite])):
        return False
    one, other = found[finite].double(), wanted[finite].double()
    if not other.numel():
        return True
    scale = other.square().mean().sqrt().clamp(min=1e-30)
    return bool((one - other).square().mean().sqrt() <= tolerance * scale)


def _signs(values: torch.Tensor) -> torch.Tensor:
    """Of infinities; 0 for what is no number."""
    return values.nan_to_num(0.0, 1.0, -1.0)

"""Numbers that a forward is given: arguments of the generated code where it is the same for every value.

As numbers, Dynamo writes them into the graph, and the text is for one value each. As tensors of one element they are
arguments. But a forward that decides by the value needs to know it, some of what the compiler takes from a tensor it
writes into the text all the same, and a tensor can change the type of a result, which a number leaves to the others.
So the text with arguments is believed only if it is the same for another value, and returns what the plain one does.
"""

from __future__ import annotations

import copy
import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch

from kernelgauge.generation.inductor_capture import Captured, capture

_PROBES: tuple[Callable[[float], float], ...] = (lambda value: value, lambda value: value + abs(value) + 1)


def capture_for_all_numbers(model: torch.nn.Module, inputs: list[Any], namespace: dict[str, Any]) -> Captured:
    """`capture`, for every value of the floats among `inputs` where that can be.

    Raises what `capture` raises.
    """
    numbers = _numbers(model, inputs)
    if not numbers:
        return capture(model, inputs, namespace)
    fresh = [copy.deepcopy(model) for _ in _PROBES]  # a call may change what the next one sees
    plain = capture(model, inputs, namespace)
    try:
        one, other = (
            capture(each, _with_tensors(inputs, numbers, probe), namespace)
            for each, probe in zip(fresh, _PROBES, strict=True)
        )
    except torch.OutOfMemoryError:  # which text it is must not hang on what is free
        raise
    except Exception:  # whatever the compiler says, the text for one value stands
        return plain
    if one.kinds != plain.kinds or (one.code, one.wiring) != (other.code, other.wiring):
        return plain
    return replace(one, numbers=tuple(numbers))


def _numbers(model: torch.nn.Module, inputs: Sequence[Any]) -> dict[str, int]:
    """Parameters of `forward` that are given a plain float: the place by the name."""
    bound = inspect.signature(model.forward).bind(*inputs).arguments
    return {
        name: place
        for place, (name, value) in enumerate(bound.items())
        if type(value) is float and math.isfinite(value)
    }


def _with_tensors(inputs: Sequence[Any], numbers: dict[str, int], probe: Callable[[float], float]) -> list[Any]:
    given = list(inputs)
    for place in numbers.values():
        given[place] = torch.tensor(probe(inputs[place]), dtype=torch.float64, device="cpu")
    return given

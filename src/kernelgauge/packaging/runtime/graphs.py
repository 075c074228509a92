"""What a forward computes, as text: two forwards with the same text make the same calls of ATen on the same shapes.

Inputs and weights are numbered by their first use, so that names and order do not matter; constants count by value.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx.experimental.proxy_tensor import make_fx

# What a trace without gradients leaves behind; they change no value.
NOTHING = ("aten.detach.default", "aten.alias.default", "aten.lift_fresh_copy.default")


@dataclass(frozen=True)
class Graph:
    """The text of a forward, and which of its tensors stands for which number in it."""

    text: str
    inputs: tuple[int, ...]
    """By number in the text: which of the inputs."""
    state: tuple[int, ...]
    """By number in the text: which of the weights."""


@dataclass(frozen=True)
class Trace:
    """A forward as calls of ATen on tensors: its inputs first, then its weights."""

    module: torch.fx.GraphModule
    tensors: tuple[torch.Tensor, ...]
    places: tuple[int, ...]
    """Which of the inputs each of the first tensors is; the others are weights."""


def trace_of(
    forward: Callable[[Sequence[Any], Sequence[torch.Tensor]], Any],
    inputs: Sequence[Any],
    state: Sequence[torch.Tensor],
    most: int,
) -> Trace | None:
    """A trace of `forward(inputs, state)` on fakes of these tensors; None if there is none, or it is too long.

    Args:
        most: calls of ATen that are looked at.
    """
    places = tuple(n for n, each in enumerate(inputs) if isinstance(each, torch.Tensor))

    def flat(*tensors: torch.Tensor) -> Any:
        given = list(inputs)
        for place, tensor in zip(places, tensors, strict=False):
            given[place] = tensor
        return forward(given, tensors[len(places) :])

    tensors = (*(inputs[place] for place in places), *state)
    try:
        with torch.no_grad():
            traced = make_fx(flat, tracing_mode="fake", _allow_non_fake_inputs=True)(*tensors)
    except Exception:  # boundary: somebody's model; what cannot be traced is matched with nothing
        return None
    traced.graph.eliminate_dead_code()
    if len(traced.graph.nodes) > most + len(tensors) + 1:
        return None
    return Trace(traced, tensors, places)


def graph_of(
    forward: Callable[[Sequence[Any], Sequence[torch.Tensor]], Any],
    inputs: Sequence[Any],
    state: Sequence[torch.Tensor],
    most: int,
) -> Graph | None:
    """The text of that trace; None if there is none."""
    traced = trace_of(forward, inputs, state, most)
    return None if traced is None else read(traced)


def read(trace: Trace) -> Graph:
    """A trace as text."""
    traced, tensors, places = trace.module, trace.tensors, trace.places
    placeholders = [node for node in traced.graph.nodes if node.op == "placeholder"]
    which = {node: number for number, node in enumerate(placeholders)}
    names: dict[torch.fx.Node, str] = {}
    order: dict[str, list[int]] = {"input": [], "weight": []}
    lines: list[str] = []

    def named(node: torch.fx.Node) -> str:
        if node not in names:  # an argument, at its first use
            number = which[node]
            kind = "input" if number < len(places) else "weight"
            names[node] = f"{kind}{len(order[kind])}"
            order[kind].append(number)
            tensor = tensors[number]
            lines.append(f"{names[node]}: {tensor.dtype} {tuple(tensor.shape)} {tensor.device.type}")
        return names[node]

    for node in traced.graph.nodes:
        if node.op == "get_attr":
            names[node] = _constant(getattr(traced, node.target))
        elif node.op == "call_function" and str(node.target) in NOTHING:
            names[node] = named(node.args[0])
        elif node.op in ("call_function", "output"):
            arguments = torch.fx.node.map_arg((node.args, node.kwargs), lambda each: _Name(named(each)))  # type: ignore[arg-type, return-value]
            names[node] = f"%{len(lines)}"
            lines.append(f"{names[node]} = {node.target}{arguments}")
    inputs = tuple(places[number] for number in order["input"])
    return Graph("\n".join(lines), inputs, tuple(number - len(places) for number in order["weight"]))


class _Name:
    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name


def _constant(value: Any) -> str:
    """A constant tensor by its values; one without values, by itself alone."""
    if isinstance(value, torch.Tensor) and type(value) is torch.Tensor and value.device.type != "meta":
        content = value.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().tobytes()
        return f"constant({value.dtype} {tuple(value.shape)} {hashlib.sha256(content).hexdigest()[:16]})"
    return f"constant({id(value)})"

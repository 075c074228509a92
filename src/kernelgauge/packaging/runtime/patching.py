"""A model's modules answered by a package's operators, where they compute the very same.

A module is swapped if its forward makes the same calls of ATen, with the same constants on the same shapes, as the
reference of a kernel does (`graphs`); or if its owner names its class, and its answers agree. Its own forward stays,
and answers whatever the guard refuses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_map_only

from .graphs import Graph, Trace, graph_of, read, trace_of
from .operators import Operator
from .variants import Variant

MOST_CALLS = 200
"""Of ATen, in a forward that is compared."""


@dataclass(frozen=True)
class Swap:
    """A module, or a part of its forward, that an operator answers now."""

    module: str
    operator: str
    how: str
    """`graph`: the same calls of ATen; `class`: its owner named it; `pattern`: a part of its forward."""


@dataclass
class Applied:
    """What was swapped in a model; `undo` gives every module its own forward back."""

    swaps: list[Swap] = field(default_factory=list)
    _forwards: list[tuple[torch.nn.Module, Any]] = field(default_factory=list)

    def undo(self) -> None:
        """Every module as it was."""
        for module, before in reversed(self._forwards):
            _give_back(module, before)
        self._forwards.clear()
        self.swaps.clear()

    @contextmanager
    def lifted(self, operators: Collection[str] | None = None) -> Iterator[None]:
        """While open, every module is as it was, or those alone that these operators answer: to compare both."""
        chosen = [
            (module, module.forward, before)
            for swap, (module, before) in zip(self.swaps, self._forwards, strict=True)
            if operators is None or swap.operator in operators
        ]
        for module, _, before in reversed(chosen):
            _give_back(module, before)
        try:
            yield
        finally:
            for module, forward, _ in chosen:
                module.forward = forward  # type: ignore[method-assign]

    def put(self, module: torch.nn.Module, forward: Callable[..., Any], swap: Swap) -> None:
        """Answer calls of a module by `forward` from now on."""
        self._forwards.append((module, module.__dict__.get("forward")))
        module.forward = forward  # type: ignore[method-assign]
        self.swaps.append(swap)


def _give_back(module: torch.nn.Module, before: Any) -> None:
    """The forward that a module had: one of its own, or that of its class."""
    if before is None:
        del module.forward
    else:
        module.forward = before


@dataclass
class Seen:
    """The calls of a module in a run of its model: the first of each form."""

    calls: list[tuple[tuple[Any, ...], dict[str, Any], type]] = field(default_factory=list)
    """Arguments, and what kind of thing was returned. Modules of one class share arguments of one form, so that not
    every activation of a model is kept."""


def seen_calls(model: torch.nn.Module, run: Callable[[], Any]) -> tuple[dict[str, Seen], Any]:
    """By module's name its calls in `run`, one of each form, and what `run` returns."""
    found: dict[str, Seen] = {}
    forms: set[Any] = set()
    shared: dict[Any, Any] = {}

    def hook(name: str) -> Callable[..., None]:
        def keep(module: torch.nn.Module, args: Any, kwargs: Any, output: Any) -> None:
            form = form_of(args, kwargs)
            if (name, form) not in forms:
                forms.add((name, form))
                if (type(module), form) not in shared:
                    given = tree_map_only(torch.Tensor, lambda t: t.detach(), (args, kwargs))
                    shared[type(module), form] = given
                found.setdefault(name, Seen()).calls.append((*shared[type(module), form], type(output)))

        return keep

    hooks = [m.register_forward_hook(hook(name), with_kwargs=True) for name, m in model.named_modules() if name]
    try:
        with torch.no_grad():
            return found, run()
    finally:
        for each in hooks:
            each.remove()


def form_of(args: Any, kwargs: Any) -> Any:
    """What two calls share that differ in values alone: structure, shapes and types of tensors, all other values."""
    leaves, structure = tree_flatten((args, kwargs))
    parts = [(tuple(t.shape), t.dtype) if isinstance(t, torch.Tensor) else repr(t) for t in leaves]
    return (str(structure), *parts)


class Matcher:
    """Looks for modules whose forward is the reference of an operator."""

    def __init__(self, operators: Mapping[str, Operator]) -> None:
        self._known: dict[str, tuple[Operator, Variant, Graph]] = {}
        self._sizes: list[Counter[Any]] = []
        for operator in operators.values():
            for variant in operator.variants:
                if variant.elsewhere() or variant.unloadable():
                    continue
                if graph := _reference_graph(variant):
                    self._known.setdefault(graph.text, (operator, variant, graph))
                    self._sizes.append(_sizes([a for a in variant.arguments[: variant.inputs] if a.is_tensor]))

    def find(self, module: torch.nn.Module, seen: Seen) -> Found | None:
        """The operator that answers one of a module's calls; None if none does."""
        for args, kwargs, kind in seen.calls:
            leaves, _ = tree_flatten((args, kwargs))
            if not plain(leaves) or not issubclass(kind, torch.Tensor | tuple):
                continue
            given = _sizes([each for each in leaves if isinstance(each, torch.Tensor)])
            if not any(wanted <= given for wanted in self._sizes):
                continue
            trace = module_trace(module, args, kwargs)
            graph = None if trace is None else read(trace)
            if graph is not None and (known := self._known.get(graph.text)):
                return Found(*known, graph, args, kwargs)
        return None


@dataclass(frozen=True)
class Found:
    """The operator and variant that answer a call of a module, and both their graphs."""

    operator: Operator
    variant: Variant
    reference: Graph
    own: Graph
    args: Any
    kwargs: Any


def plain(leaves: Sequence[Any]) -> bool:
    """Whether a call gets tensors and values alone: a cache, say, is changed by it, which no operator does."""
    return all(each is None or isinstance(each, _VALUES) for each in leaves)


_VALUES = (torch.Tensor, bool, int, float, str, torch.dtype, torch.device)


def module_trace(module: torch.nn.Module, args: Any, kwargs: Any, most: int = MOST_CALLS) -> Trace | None:
    """The trace of one call of a module; its inputs are the leaves of its arguments."""
    leaves, structure = tree_flatten((args, kwargs))
    names, state = state_of(module)

    def forward(inputs: Sequence[Any], weights: Sequence[torch.Tensor]) -> Any:
        given_args, given_kwargs = structure.unflatten(list(inputs))
        return torch.func.functional_call(module, dict(zip(names, weights, strict=True)), given_args, given_kwargs)

    return trace_of(forward, leaves, state, most)


def state_of(module: torch.nn.Module) -> tuple[list[str], list[torch.Tensor]]:
    """Names and tensors of a module's parameters and buffers, in order."""
    found = dict([*module.named_parameters(), *module.named_buffers()])
    return list(found), [tensor.detach() for tensor in found.values()]


def _sizes(tensors: Sequence[Any]) -> Counter[Any]:
    return Counter((tuple(each.shape), each.dtype) for each in tensors)


def _reference_graph(variant: Variant) -> Graph | None:
    arguments = [each.drawn(variant.device) for each in variant.arguments]

    def forward(inputs: Sequence[Any], weights: Sequence[torch.Tensor]) -> Any:
        found = variant.reference([*inputs, *weights])
        return found[0] if len(found) == 1 else found

    return graph_of(forward, arguments[: variant.inputs], arguments[variant.inputs :], MOST_CALLS)

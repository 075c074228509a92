"""Parts of a forward that an operator without weights can answer, found in its graph of `torch.fx`.

A module is traced for one form of its arguments, and the traced forward answers calls of that form alone; every other
call goes to the module's own.
"""

from __future__ import annotations

import inspect
import operator as python
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import fx
from torch.fx.operator_schemas import normalize_function
from torch.fx.passes.utils.matcher_utils import InternalMatch, SubgraphMatcher
from torch.utils._pytree import tree_flatten

from .comparing import close, same_draws
from .forwards import Standing
from .operators import Operator
from .patching import Applied, Seen, Swap, form_of
from .variants import Variant

# One function for each computation, however it is spelt.
_SAME: dict[Any, Callable[..., Any]] = {
    torch.add: python.add,
    torch.mul: python.mul,
    torch.sub: python.sub,
    torch.div: python.truediv,
    torch.relu: torch.nn.functional.relu,
    torch.sigmoid: torch.nn.functional.sigmoid,
    torch.tanh: torch.nn.functional.tanh,
    torch.softmax: torch.nn.functional.softmax,
    "relu": torch.nn.functional.relu,
    "sigmoid": torch.nn.functional.sigmoid,
    "tanh": torch.nn.functional.tanh,
    "softmax": torch.nn.functional.softmax,
    "add": python.add,
    "mul": python.mul,
    "sub": python.sub,
    "div": python.truediv,
}


class _Tracer(fx.Tracer):
    """Goes through modules without weights, so that `nn.SiLU()` and `F.silu` look the same; not swapped ones."""

    def is_leaf_module(self, m: torch.nn.Module, module_qualified_name: str) -> bool:
        own = next(m.parameters(), None) is not None or next(m.buffers(), None) is not None
        return own or "forward" in vars(m)


def part_of(
    operators: Mapping[str, Operator],
    module: torch.nn.Module,
    name: str,
    seen: Seen,
    done: Applied,
    tolerance: float,
) -> bool:
    """Swap parts of a module's forward that an operator without weights computes, if its answer stays the same."""
    wanted = [
        (each, variant)
        for each in operators.values()
        for variant in each.variants[:1]
        if not variant.state and len(variant.results) == 1 and all(a.is_tensor for a in variant.arguments)
        if variant.elsewhere() is None
    ]
    if not wanted or any("." in child for child, _ in module.named_modules()):
        return False  # of modules that hold others which hold others again, those are looked at themselves
    args, kwargs, _ = seen.calls[0]
    for operator, pattern in _largest_first(wanted):
        traced = _traced(module, args, kwargs)
        if traced is None:
            return False
        count = _rewritten(traced, operator, pattern)
        if not count:
            continue
        traced.recompile()
        part = _Part(module, type(traced).forward, form_of(args, kwargs))
        before = operator.hits
        with torch.no_grad():
            with same_draws():
                found = part.forward(*args, **kwargs)
            with same_draws():
                same = close(found, part.own(*args, **kwargs), tolerance)
        if same and operator.hits > before:  # at these shapes a kernel answers
            done.put(module, part.forward, Swap(name, operator.name, "pattern"))
            return True
    return False


def _largest_first(
    wanted: Sequence[tuple[Operator, Variant]],
) -> list[tuple[Operator, fx.Graph]]:
    """The patterns of operators: one that is a part of another comes after it."""
    found = [(each, pattern) for each, variant in wanted if (pattern := _pattern(variant)) is not None]
    return sorted(found, key=lambda pair: -len(pair[1].nodes))


class _Part(Standing):
    """Answers calls of one form by the code of a traced forward, which finds submodules and weights in the module."""

    def __init__(self, module: torch.nn.Module, code: Callable[..., Any], form: Any) -> None:
        super().__init__(module)
        self._code, self._form = code, form

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The answer with the operator in it, or the module's own."""
        if self.module.training == self.mode and form_of(args, kwargs) == self._form:
            tensors = (each for each in tree_flatten((args, kwargs))[0] if isinstance(each, torch.Tensor))
            return self._code(self.module, *tensors)
        return self.own(*args, **kwargs)


def _traced(module: torch.nn.Module, args: Any, kwargs: Any) -> fx.GraphModule | None:
    """A module's forward as a graph of the tensors among its arguments; None where `torch.fx` cannot trace it.

    Its code is run on the module itself, so a trace that puts a constant beside it is none.
    """
    before = set(vars(module))
    try:
        bound = inspect.signature(module.forward).bind(*args, **kwargs)
        bound.apply_defaults()
        given = bound.arguments
        if any(isinstance(each, list | tuple | dict) and each for each in given.values()):
            return None  # tensors inside of others
        fixed = {key: each for key, each in given.items() if not isinstance(each, torch.Tensor)}
        graph = _Tracer().trace(module, concrete_args=fixed)
        _without_fixed(graph, given)
        traced = fx.GraphModule(module, _spelt_alike(module, graph))
    except Exception:  # boundary: somebody's forward; most that look at values or types cannot be traced
        return None
    finally:
        constants = set(vars(module)) - before
        for name in constants:
            delattr(module, name)
    return None if constants else traced


def _without_fixed(graph: fx.Graph, given: Mapping[str, Any]) -> None:
    """Placeholders of arguments that are no tensors go, with the checks of their values that `torch.fx` writes: those
    stand in the graph, and whoever calls it has compared them."""
    placeholders = [node for node in graph.nodes if node.op == "placeholder"]
    for node, value in zip(placeholders, given.values(), strict=True):
        if not isinstance(value, torch.Tensor):
            _erase(graph, node)


def _erase(graph: fx.Graph, node: fx.Node) -> None:
    for user in list(node.users):
        _erase(graph, user)
    graph.erase_node(node)


def _spelt_alike(root: torch.nn.Module, graph: fx.Graph) -> fx.Graph:
    """The graph with one name for each function, and all its arguments by name where they have names."""
    for node in graph.nodes:
        key = node.target
        if node.op in ("call_function", "call_method") and key in _SAME:
            node.op, node.target = "call_function", _SAME[key]
        if node.op == "call_function" and node.target in (python.imul, python.iadd):
            node.target = {python.imul: python.mul, python.iadd: python.add}[node.target]
        if node.op == "call_function" and getattr(node.target, "__module__", "") == "torch.nn.functional":
            full = normalize_function(node.target, node.args, node.kwargs, normalize_to_only_use_kwargs=True)
            if full is not None:
                kept = {k: v for k, v in full.kwargs.items() if k not in ("inplace", "_stacklevel")}
                node.args, node.kwargs = (kept.pop("input"),) if "input" in kept else (), kept
    return graph


def _rewritten(traced: fx.GraphModule, operator: Operator, pattern: fx.Graph) -> int:
    """Put the operator in the place of every part that its reference computes; how many there were."""
    graph = traced.graph
    replaced: dict[fx.Node, fx.Node] = {}
    try:
        for match in SubgraphMatcher(pattern, match_output=False, ignore_literals=False).match(graph):
            if all(node in graph.nodes for node in match.returning_nodes):
                _put(graph, match, operator, replaced)
        graph.eliminate_dead_code()
        graph.lint()
    except Exception:  # boundary: the matcher of `torch.fx`; the graph is not used then
        return 0
    return len(replaced)


def _put(graph: fx.Graph, match: InternalMatch, operator: Operator, replaced: dict[fx.Node, fx.Node]) -> None:
    (last,) = match.returning_nodes
    # What a match takes in may be what another one gave.
    arguments = tuple(replaced.get(node, node) for node in match.placeholder_nodes)
    with graph.inserting_before(last):
        made = graph.call_function(_function(operator), arguments)
    last.replace_all_uses_with(made)
    graph.erase_node(last)
    replaced[last] = made


def _function(operator: Operator) -> Callable[..., Any]:
    """An operator as a function with a name, which is what a graph can call."""

    def answer(*arguments: Any) -> Any:
        return operator(*arguments)

    answer.__name__ = answer.__qualname__ = operator.name
    return answer


def _pattern(variant: Variant) -> fx.Graph | None:
    """The reference's forward as a graph."""
    try:
        model = variant.reference_model()
        graph = _spelt_alike(model, _Tracer().trace(model))
    except Exception:  # boundary: somebody's forward
        return None
    calls = [node for node in graph.nodes if node.op in ("call_function", "call_method", "call_module")]
    return graph if calls else None

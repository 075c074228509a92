"""Swaps what a package can answer in a model, checks the model's answer, and undoes all of it if that has changed."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.utils._pytree import tree_flatten

from .comparing import close, comparable, same_draws, tolerance_of
from .forwards import Swapped
from .operators import Operator
from .patching import Applied, Matcher, Seen, Swap, plain, seen_calls, state_of
from .patterns import part_of


def apply(
    operators: Mapping[str, Operator],
    model: torch.nn.Module,
    *args: Any,
    run: Callable[[], Any] | None = None,
    classes: Mapping[str, str] | None = None,
    patterns: bool = True,
    tolerance: float | None = None,
    **kwargs: Any,
) -> Applied:
    """Swap the modules of a model, the outermost first, whose forward these operators can answer.

    Args:
        args, kwargs: of one call of the model, which shows the shapes that its modules see.
        run: makes several such calls instead, as a generation of tokens does; the same every time.
        classes: names of classes of modules that an operator answers though its reference is written otherwise:
            class -> operator. Such a module is swapped if the operator's answers agree with its own.
        patterns: whether parts of a module's forward are looked at too, where it can be traced by `torch.fx`.
        tolerance: how far answers may differ, by root mean square relative to the model's own; by default 1e-3, and
            more where the model or its answer has a narrower type than float32.

    Returns:
        What was swapped. It is nothing, and a warning says so, if the model's answer changed by more than that, or
        has no tensor to compare. What `run` returns is the answer.
    """
    call = run or (lambda: model(*args, **kwargs))
    done = Applied()
    with same_draws():
        seen, before = seen_calls(model, call)
    if not comparable(before):
        warnings.warn("the model's answer has no tensor to compare: nothing was swapped", RuntimeWarning, 3)
        return done
    allowed = tolerance_of(model, before) if tolerance is None else tolerance
    try:
        with same_draws():
            _swap(operators, model, seen, done, classes or {}, patterns, allowed)
        with torch.no_grad(), same_draws():
            after = call()
        if close(after, before, allowed):
            return done
    except BaseException:  # ctrl-C too: nobody gets `done`, so nobody else could undo half of the swaps
        done.undo()
        raise
    done.undo()
    warnings.warn("the model's answer changed by more than the tolerance: nothing was swapped", RuntimeWarning, 3)
    return done


def _swap(
    operators: Mapping[str, Operator],
    model: torch.nn.Module,
    seen: Mapping[str, Seen],
    done: Applied,
    classes: Mapping[str, str],
    patterns: bool,
    tolerance: float,
) -> None:
    matcher = Matcher(operators)
    inside: list[str] = []
    for name, module in model.named_modules():
        if not name or name not in seen or any(_within(name, outer) for outer in inside):
            continue
        if _by_graph(matcher, module, name, seen[name], done) or _by_class(
            operators, classes, module, name, seen[name], done, tolerance
        ):
            inside.append(name)
    if patterns:
        for name, module in model.named_modules():
            outside = name in seen and not any(_within(name, outer) for outer in inside)
            if outside and part_of(operators, module, name, seen[name], done, tolerance):
                inside.append(name)


def _within(name: str, outer: str) -> bool:
    return name == outer or name.startswith(f"{outer}.")


def _by_graph(matcher: Matcher, module: torch.nn.Module, name: str, seen: Seen, done: Applied) -> bool:
    found = matcher.find(module, seen)
    if found is None:
        return False
    operator, variant = found.operator, found.variant
    # By number in the text: which of the operator's inputs and weights, and which of the module's, that is.
    inputs = dict(zip(found.reference.inputs, found.own.inputs, strict=True))
    weights = dict(zip(found.reference.state, found.own.state, strict=True))
    names, _ = state_of(module)
    if len(inputs) != variant.inputs or len(weights) != len(variant.state):
        return False  # an argument that the reference does not use has nothing here to stand for it
    order = [inputs[number] for number in range(variant.inputs)]
    mine = [names[weights[number]] for number in range(len(variant.state))]
    standing = Swapped(module, operator, order, mine, found.args, found.kwargs)
    done.put(module, standing.forward, Swap(name, operator.name, "graph"))
    return True


def _by_class(
    operators: Mapping[str, Operator],
    classes: Mapping[str, str],
    module: torch.nn.Module,
    name: str,
    seen: Seen,
    done: Applied,
    tolerance: float,
) -> bool:
    operator = operators.get(classes.get(type(module).__name__, ""))
    if operator is None:
        return False
    names, state = state_of(module)
    args, kwargs, _ = seen.calls[0]
    leaves, _ = tree_flatten((args, kwargs))
    order = [n for n, each in enumerate(leaves) if isinstance(each, torch.Tensor)]
    if not plain(leaves) or len(order) != operator.variants[0].inputs:
        return False
    if not _agrees(operator, module, state, seen, tolerance):
        return False
    standing = Swapped(module, operator, order, names, args, kwargs)
    done.put(module, standing.forward, Swap(name, operator.name, "class"))
    return True


def _agrees(
    operator: Operator, module: torch.nn.Module, state: Sequence[torch.Tensor], seen: Seen, tolerance: float
) -> bool:
    """Whether the reference of an operator answers a module's calls as it did, and one of them is its own."""
    own = False
    for args, kwargs, _ in seen.calls:
        leaves, _ = tree_flatten((args, kwargs))
        arguments = (*(each for each in leaves if isinstance(each, torch.Tensor)), *state)
        variant = next((each for each in operator.variants if each.miss(arguments) is None), None)
        if variant is None or variant.unloadable():
            continue
        own = True
        with torch.no_grad(), same_draws():
            found, output = variant.reference(arguments), module.forward(*args, **kwargs)
        if not close(found if isinstance(output, tuple) else found[0], output, tolerance):
            return False
    return own

"""Which operators of a written package are one call of ATen: `python -m ... FOLDER NAME` prints JSON."""

from __future__ import annotations

import importlib
import json
import os
import sys
from typing import Any

import torch

from kernelgauge.packaging.runtime.graphs import NOTHING, Trace, trace_of

_MOST = 8


def single_call(trace: Trace, inputs: int) -> dict[str, Any] | None:
    """Operator and arguments of the one call that a trace makes; None if it makes others, or weights come in."""
    nodes = trace.module.graph.nodes
    calls = [node for node in nodes if node.op == "call_function" and str(node.target) not in NOTHING]
    places = {node: number for number, node in enumerate(n for n in nodes if n.op == "placeholder")}
    if len(calls) != 1 or calls[0].kwargs or not isinstance(calls[0].target, torch._ops.OpOverload):
        return None
    arguments: list[tuple[bool, Any]] = []
    order: dict[int, int] = {}
    for number, each in enumerate(calls[0].args):
        if isinstance(each, torch.fx.Node):
            if each not in places or places[each] in order:  # `x * x` is no judgement of `x * y`
                return None
            order[places[each]] = number
            arguments.append((True, None))
        elif each is None or isinstance(each, bool | int | float | list):
            arguments.append((False, each))
        else:
            return None
    if sorted(order) != list(range(inputs)):
        return None
    namespace, op, overload = str(calls[0].target).split(".")
    if namespace != "aten":
        return None
    return {"op": op, "overload": overload, "arguments": arguments, "order": [order[n] for n in range(inputs)]}


def main() -> None:
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    folder, name = sys.argv[1:]
    sys.path.insert(0, folder)
    found = {}
    for operator in importlib.import_module(name).operators.values():
        variant = operator.variants[0]
        given = [each.drawn(variant.device) for each in variant.arguments]
        if variant.state or not all(each.is_tensor for each in variant.arguments) or len(variant.results) != 1:
            continue

        def forward(inputs: Any, _: Any, variant: Any = variant) -> Any:
            return variant.reference(inputs)[0]

        trace = trace_of(forward, given, (), _MOST)
        if trace is not None and (call := single_call(trace, len(given))):
            found[operator.name] = call
    with answer:
        json.dump(found, answer)


if __name__ == "__main__":
    main()

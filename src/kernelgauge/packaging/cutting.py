"""A model cut into problems of the suite's form, with the shapes and the inputs that it really sees.

Runs in a process of its own, as a module: `python -m kernelgauge.packaging.cutting`, a request on standard input and
an answer on standard output, both JSON. The model's code is its owner's, and has no place in the trusted parent.

Request: `path`, `device`, `most` (calls of ATen in a problem), `limit` (problems), `single` (whether modules that are
one call of PyTorch become problems too). Answer: `cuts`, `skipped`.
"""

from __future__ import annotations

import json
import math
import operator
import os
import re
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import torch
from torch.utils._pytree import tree_flatten

from kernelgauge.backends.loading import import_file
from kernelgauge.packaging.drawing import drawn
from kernelgauge.packaging.runtime.graphs import NOTHING, Trace, read
from kernelgauge.packaging.runtime.patching import Seen, module_trace, plain, seen_calls, state_of

SEED = 0
# Calls that move no values: a module of these and one other is what PyTorch has a kernel for already.
_VIEWS = (
    *("t", "view", "_unsafe_view", "transpose", "permute", "unsqueeze", "squeeze", "expand", "reshape", "slice"),
    *("select", "detach", "alias", "clone", "split"),
)
# What PyTorch makes of attention differs by device and type, and none of it can be asked in float64.
_ATTENTION = re.compile(r"aten\._scaled_dot_product_\w*attention\w*\.default")
_LEAST_SHARE = 0.005


def loaded_model(path: Path, device: str) -> tuple[torch.nn.Module, list[Any]]:
    """The model of a file and its inputs, under one seed, ready to answer. Raises whatever its code raises."""
    module = import_file(path, "model")
    torch.manual_seed(SEED)
    model = module.Model(*module.get_init_inputs()).to(device).eval()
    inputs = [each.to(device) if isinstance(each, torch.Tensor) else each for each in module.get_inputs()]
    return model, inputs


def cuts_of(model: torch.nn.Module, inputs: list[Any], most: int, limit: int, single: bool = False) -> dict[str, Any]:
    """Problems of a model: the outermost modules that are small enough, those with the most of its time first."""
    seconds = _seconds(model, inputs)
    seen, _ = seen_calls(model, lambda: model(*inputs))
    found: dict[str, dict[str, Any]] = {}
    skipped: list[dict[str, str]] = []
    inside: list[str] = []
    for name, module in model.named_modules():
        if not name or name not in seen or any(name.startswith(f"{outer}.") for outer in inside):
            continue
        trace = _trace(module, seen[name], most)
        if trace is None:
            continue  # its own modules may be small enough
        inside.append(name)
        if reason := _unfit(trace, single):
            skipped.append({"module": name, "reason": reason})
            continue
        text = read(trace).text
        if text not in found:
            args, kwargs, _ = seen[name].calls[0]
            source = _problem(type(module).__name__, trace, module, args, kwargs)
            found[text] = {"class": type(module).__name__, "source": source, "modules": [], "seconds": 0.0}
        found[text]["modules"].append(name)
        found[text]["seconds"] += seconds[name]
    whole = seconds[""]
    cuts = sorted(found.values(), key=lambda cut: -cut["seconds"])
    for cut in cuts:
        cut["share"] = cut.pop("seconds") / whole
    kept = [cut for cut in cuts if cut["share"] >= _LEAST_SHARE][:limit]
    few = [cut for cut in cuts if cut not in kept]
    skipped += [{"module": cut["modules"][0], "reason": f"takes {cut['share']:.1%} of its time"} for cut in few]
    _name(kept)
    return {"cuts": kept, "skipped": skipped}


def _trace(module: torch.nn.Module, seen: Seen, most: int) -> Trace | None:
    args, kwargs, kind = seen.calls[0]
    if not plain(tree_flatten((args, kwargs))[0]) or not issubclass(kind, torch.Tensor):
        return None
    return module_trace(module, args, kwargs, most)


def _unfit(trace: Trace, single: bool) -> str | None:
    """Why no problem is made of a module, in words that follow its name."""
    calls = [node for node in trace.module.graph.nodes if node.op == "call_function"]
    work = [n for n in calls if isinstance(n.target, torch._ops.OpOverload) and _plain_name(n.target) not in _VIEWS]
    if not work:
        return "moves no values"
    if len(work) == 1 and not single:
        return "is one call of PyTorch"
    if any(node.op == "get_attr" for node in trace.module.graph.nodes):
        return "holds a constant tensor"
    for node in work:
        if torch.Tag.nondeterministic_seeded in node.target.tags and not _attends(node):
            return f"draws at random ({node.target})"
        if node.target._schema.is_mutable:
            return f"writes to what it is given ({node.target})"
    floats = {tensor.dtype for tensor in trace.tensors if tensor.is_floating_point()}
    if floats - {torch.float32}:
        return "computes in a narrower type than float32, and a problem's text is in that"
    placeholders = [node for node in trace.module.graph.nodes if node.op == "placeholder"]
    used = [tensor for node, tensor in zip(placeholders, trace.tensors, strict=True) if node.users]
    if not all(tensor.is_contiguous() for tensor in used):
        return "gets a tensor that is not contiguous (channels_last, transposed), and a problem's are"
    return None


def _attends(node: torch.fx.Node) -> bool:
    """Whether it is a kernel of PyTorch's for attention that drops nothing, and whose answer alone is used."""
    if not _ATTENTION.fullmatch(str(node.target)) or _arguments(node).get("dropout_p"):
        return False
    return all(user.target is operator.getitem and user.args[1] == 0 for user in node.users)


def _arguments(node: torch.fx.Node) -> dict[str, Any]:
    """What a call of ATen is given, by the names of its schema; what it is not given is left out."""
    named = zip((each.name for each in node.target._schema.arguments), node.args, strict=False)  # type: ignore[union-attr]
    return {**dict(named), **node.kwargs}


def _seconds(model: torch.nn.Module, inputs: list[Any]) -> dict[str, float]:
    """By module's name the time of its calls in one run of the model; that of the model itself by the empty name."""
    found: dict[str, float] = defaultdict(float)
    began: list[float] = []
    wait = torch.cuda.synchronize if torch.cuda.is_available() else lambda: None

    def before(*_: Any) -> None:
        wait()
        began.append(time.perf_counter())

    def after(name: str) -> Any:
        def hook(*_: Any) -> None:
            wait()
            found[name] += time.perf_counter() - began.pop()

        return hook

    hooks: list[Any] = []
    with torch.no_grad():
        model(*inputs)
        for name, module in model.named_modules():
            hooks += [module.register_forward_pre_hook(before), module.register_forward_hook(after(name))]
        model(*inputs)
    for each in hooks:
        each.remove()
    return found


def _problem(kind: str, trace: Trace, module: torch.nn.Module, args: Any, kwargs: Any) -> str:
    """The text of a problem whose forward makes the calls of a trace."""
    graph = read(trace)
    leaves, _ = tree_flatten((args, kwargs))
    _, state = state_of(module)
    inputs = {trace.places.index(place): f"x{n}" for n, place in enumerate(graph.inputs)}
    weights = {len(trace.places) + place: f"self.w{n}" for n, place in enumerate(graph.state)}
    given, lines = [], []
    for n, place in enumerate(graph.inputs):
        given.append(f"x{n}")
        lines.append(f"        {drawn(leaves[place])},  # x{n}, as it was seen")
    own = []
    for n, place in enumerate(graph.state):
        tensor = state[place]
        value = drawn(tensor)
        if tensor.is_floating_point():
            own.append(f"        self.w{n} = torch.nn.Parameter({value})")
        else:
            own.append(f'        self.register_buffer("w{n}", {value})')
    body = _body(trace, {**inputs, **weights})
    return "\n".join(
        [
            f'"""{kind}, as a model calls it: its shapes, and inputs as spread out as those that it saw."""',
            "",
            "import torch",
            "",
            "aten = torch.ops.aten",
            "",
            "",
            "class Model(torch.nn.Module):",
            "    def __init__(self):",
            "        super().__init__()",
            *own,
            "",
            f"    def forward(self, {', '.join(given)}):",
            *(f"        {line}" for line in body),
            "",
            "",
            "def get_inputs():",
            "    return [",
            *lines,
            "    ]",
            "",
            "",
            "def get_init_inputs():",
            "    return []",
            "",
        ]
    )


def _body(trace: Trace, names: dict[int, str]) -> list[str]:
    """The calls of a trace, a line each."""
    known: dict[torch.fx.Node, str] = {}
    lines: list[str] = []
    placeholders = [node for node in trace.module.graph.nodes if node.op == "placeholder"]
    for number, node in enumerate(placeholders):
        if number in names:
            known[node] = names[number]
    for node in trace.module.graph.nodes:
        if node.op == "call_function" and str(node.target) in NOTHING:
            known[node] = known[node.args[0]]
        elif node.op == "call_function":
            known[node] = f"v{len(lines)}"
            lines.append(f"{known[node]} = {_call(node, known)}")
        elif node.op == "output":
            lines.append(f"return {_written(node.args[0], known)}")
    return lines


def _call(node: torch.fx.Node, known: dict[torch.fx.Node, str]) -> str:
    arguments = [_written(each, known) for each in node.args]
    if not isinstance(node.target, torch._ops.OpOverload):  # one of several results
        return arguments[0] if _attends(node.args[0]) else f"{arguments[0]}[{arguments[1]}]"  # type: ignore[arg-type]
    if _attends(node):
        return _attention(node, known)
    arguments += [f"{name}={_written(each, known)}" for name, each in node.kwargs.items()]
    # The same layouts come of no other type or device, and a view that is not there fails.
    target = "aten.reshape.default" if node.target is torch.ops.aten.view.default else node.target
    return f"{target}({', '.join(arguments)})"


def _attention(node: torch.fx.Node, known: dict[torch.fx.Node, str]) -> str:
    """The call that every device and type has, and that PyTorch makes the same kernel of."""
    given = _arguments(node)
    query, key, value = (_written(given[name], known) for name in ("query", "key", "value"))
    mask = _written(given.get("attn_bias", given.get("attn_mask")), known)
    more = f"0.0, {given.get('is_causal', False)}, scale={given.get('scale')!r}"
    return f"aten.scaled_dot_product_attention.default({query}, {key}, {value}, {mask}, {more})"


def _written(value: Any, known: dict[torch.fx.Node, str]) -> str:
    if isinstance(value, torch.fx.Node):
        return known[value]
    if isinstance(value, list | tuple):
        inner = ", ".join(_written(each, known) for each in value)
        return f"[{inner}]" if isinstance(value, list) else f"({inner},)"
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    if isinstance(value, torch.device):
        return f'torch.device("{value.type}")'
    return repr(value)


def _plain_name(target: Any) -> str:
    return str(target).split(".")[1]


def _name(cuts: list[dict[str, Any]]) -> None:
    taken: Counter[str] = Counter()
    for cut in cuts:
        plain = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", cut["class"]).lower()
        taken[plain] += 1
        cut["name"] = plain if taken[plain] == 1 else f"{plain}_{taken[plain]}"


def main() -> None:
    # Whatever the model prints must not end up in the answer.
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    request = json.loads(sys.stdin.read())
    with answer:
        model, inputs = loaded_model(Path(request["path"]), request["device"])
        json.dump(cuts_of(model, inputs, request["most"], request["limit"], request["single"]), answer)


if __name__ == "__main__":
    main()

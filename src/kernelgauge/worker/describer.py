"""The describer: a process that runs a problem's own code to describe it. It knows neither candidates nor verdicts.

What it finds is written as JSON into a file of the parent's: a state dict of a thousand names fits no message.
"""

from __future__ import annotations

import inspect
import json
import os
import re
import socket
import time
from pathlib import Path
from typing import Any

import torch
from torch.nn.modules.dropout import _DropoutNd

from kernelgauge.backends.loading import import_file
from kernelgauge.config import MathMode
from kernelgauge.wire.arguments import encode
from kernelgauge.wire.commands import Command
from kernelgauge.wire.describer_commands import Describe, DescribeCall, RequiredBytes, RunOnce
from kernelgauge.wire.math_modes import cast
from kernelgauge.wire.outputs import flatten
from kernelgauge.wire.regions import dtype_name
from kernelgauge.worker import serving
from kernelgauge.worker.bytes_read import Reads, reached, written
from kernelgauge.worker.required_bytes import certain
from kernelgauge.worker.serving import Answer

# How PyTorch says that an operator needs values, which the meta device has not.
_NO_VALUES = re.compile(r"meta tensor|register_meta", re.IGNORECASE)
_PLAIN = bool | int | float | str | list | tuple
Fingerprint = tuple[float, float]


def _shape_and_dtype(value: Any) -> dict[str, Any]:
    if isinstance(value, torch.Tensor):
        return {"shape": list(value.shape), "dtype": dtype_name(value.dtype)}
    return {"value": value}


def _plain(value: Any) -> Any:
    """The same value for JSON: what is no plain value by the name of its class."""
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value if value is None or isinstance(value, bool | int | float | str) else type(value).__name__


def _bytes(tensors: list[torch.Tensor]) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


def _narrowest(tensors: list[torch.Tensor]) -> str:
    widths = [tensor.element_size() for tensor in tensors if tensor.is_floating_point()]
    return {8: "float64", 4: "float32"}.get(min(widths, default=4), "half")


def describe(path: Path, math: MathMode = "ieee") -> dict[str, Any]:
    """Shapes, names and work of a problem at the sizes in its text, on the meta device: without its memory.

    `flops` counts matrix products, convolutions and attention (`torch.utils.flop_counter`); `bytes` tells inputs,
    each parameter and outputs apart. `layout` says what an operator needs to know: parameters and buffers in their
    order, the outputs' strides, buffers that a call changes, modules that draw at random. `moved` are the bytes that
    it has to read and write (see `bytes_read`). Where the forward looks at values, what follows from running it is
    None.
    """
    # Here, not above: it imports Triton, which must not be in the zygote before a worker has said how it is to run.
    from torch.utils.flop_counter import FlopCounterMode

    with torch.device("meta"), torch.no_grad():
        module = import_file(path, "problem")
        inputs = list(module.get_inputs())
        init = list(module.get_init_inputs())
        model = cast(module.Model(*init), math)
        inputs = [cast(value, math) for value in inputs]
        given = [value for value in inputs if isinstance(value, torch.Tensor)]
        weights = list(model.parameters())
        try:
            versions = {name: buffer._version for name, buffer in model.named_buffers()}
            # With gradients, though none is computed: their graph tells which parameters reach an output.
            with torch.enable_grad(), Reads([*given, *weights]) as reads, FlopCounterMode(display=False) as counter:
                outputs: list[torch.Tensor] | None = flatten(model(*inputs))
        except RuntimeError as error:
            if not _NO_VALUES.search(str(error)):  # shapes that do not fit, say, are the problem's fault
                raise
            outputs = None  # a forward that looks at values, which the meta device has not
    names = list(inspect.signature(module.Model.forward).parameters)[1:]
    buffers = {name for name, _ in model.named_buffers()}
    state = dict([*model.named_parameters(), *model.named_buffers()])
    return {
        "constants": {n: _plain(v) for n, v in vars(module).items() if isinstance(v, _PLAIN) and n[:1] != "_"},
        "inputs": [{"name": n, **_shape_and_dtype(v)} for n, v in zip(names, inputs, strict=False)],
        "init_args": _plain(init),
        "state": {name: list(tensor.shape) for name, tensor in model.state_dict().items()},
        "buffers": [name for name in model.state_dict() if name in buffers],
        "output": [_shape_and_dtype(tensor) for tensor in outputs] if outputs is not None else None,
        "layout": {
            "state": [{"name": name, **_shape_and_dtype(tensor)} for name, tensor in state.items()],
            "strides": [list(tensor.stride()) for tensor in outputs],
            "changed": [name for name, buffer in model.named_buffers() if buffer._version != versions[name]],
            "random": sorted({type(m).__name__ for m in model.modules() if isinstance(m, _DropoutNd) and m.p > 0}),
        }
        if outputs is not None
        else None,
        "flops": counter.get_total_flops() or None if outputs is not None else None,
        "bytes": {
            "inputs": _bytes(given),
            "parameters": {name: _bytes([tensor]) for name, tensor in model.named_parameters()},
            "output": _bytes(outputs) if outputs is not None else None,
        },
        "moved": {
            "inputs": reads.of(given),
            "parameters": reads.of(reached(outputs, weights)),
            "outputs": written(outputs, [*given, *weights, *model.buffers()]),
            "narrowest": _narrowest([*given, *weights, *outputs]),
        }
        if outputs is not None
        else None,
    }


def called(path: Path, math: MathMode) -> dict[str, Any]:
    """The constructor's and the forward's arguments, as `Rehearse` takes them: of tensors shapes and dtypes alone."""
    with torch.device("meta"), torch.no_grad():
        module = import_file(path, "problem")
        inputs = [cast(value, math) for value in module.get_inputs()]
        init = encode(list(module.get_init_inputs()))
    told = [
        {"tensor": _shape_and_dtype(value)} if isinstance(value, torch.Tensor) else {"value": encode(value)}
        for value in inputs
    ]
    return {"init": init, "arguments": told}


def _alike(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Equal but for rounding: where memory lies elsewhere a library may add up in another order."""
    if torch.equal(one, other):
        return True
    if not one.is_floating_point() or (one.shape, one.dtype) != (other.shape, other.dtype):
        return False
    wide, others = one.double(), other.double()
    scale = float(wide.nan_to_num(0.0, 0.0, 0.0).square().mean().sqrt())
    allowed = max(1e-5, 4 * torch.finfo(one.dtype).eps) * scale
    return torch.allclose(wide, others, rtol=0.0, atol=allowed, equal_nan=True)


def run(path: Path, seed: int) -> dict[str, Any]:
    """A forward at the sizes in the text, and again from the same seed: is it finite, does it repeat?"""
    module = import_file(path, "problem")

    def drawn() -> tuple[list[Any], Any]:
        torch.manual_seed(seed)
        inputs = list(module.get_inputs())
        return inputs, module.Model(*module.get_init_inputs())

    inputs, model = drawn()
    kept, twin = drawn()
    with torch.no_grad():
        torch.manual_seed(seed)
        started = time.perf_counter()
        outputs = flatten(model(*inputs))
        seconds = time.perf_counter() - started
        torch.manual_seed(seed)
        repeated = flatten(twin(*kept))
        fresh, _ = drawn()
        another = flatten(model(*fresh))
    weights = [tensor for _, tensor in model.named_parameters()]
    return {
        "constants": {n: _plain(v) for n, v in vars(module).items() if isinstance(v, _PLAIN) and n[:1] != "_"},
        "inputs": [_shape_and_dtype(value) for value in inputs],
        "output": [_shape_and_dtype(tensor) for tensor in outputs],
        "state": {name: list(tensor.shape) for name, tensor in model.state_dict().items()},
        "repeats": all(map(_alike, outputs, repeated)),
        "draws_in_forward": not all(map(_alike, outputs, another)),
        "finite": all(bool(t.isfinite().all()) for t in outputs if t.is_floating_point()),
        "writes_to_inputs": any(
            isinstance(a, torch.Tensor) and not torch.equal(a, b) for a, b in zip(inputs, fresh, strict=True)
        ),
        "seconds": seconds,
        "fingerprints": {
            "inputs": _fingerprint([value for value in drawn()[0] if isinstance(value, torch.Tensor)]),
            "parameters": _fingerprint(weights),
            "output": _precise_fingerprint(drawn, seed, outputs),
        },
        "unreached": _unreached(drawn, seed),
        "uninitialised": _uninitialised(module),
    }


def _precise_fingerprint(drawn: Any, seed: int, outputs: list[torch.Tensor]) -> Fingerprint:
    """Of the output in float64, where the order of additions does not show; of the given one where that cannot be."""
    inputs, model = drawn()
    default = torch.get_default_dtype()
    try:
        torch.set_default_dtype(torch.float64)
        raised = [v.double() if isinstance(v, torch.Tensor) and v.is_floating_point() else v for v in inputs]
        torch.manual_seed(seed)
        with torch.no_grad():
            return _fingerprint(flatten(model.double()(*raised)))
    except Exception:  # boundary: the problem's own code, perhaps for float32 only; in that it has run already
        return _fingerprint(outputs)
    finally:
        torch.set_default_dtype(default)


def _fingerprint(tensors: list[torch.Tensor]) -> Fingerprint:
    """Root mean square, and the mean under random signs relative to it: most permutations and sign changes show."""
    flat = torch.cat([t.detach().double().flatten() for t in tensors]) if tensors else torch.zeros(0).double()
    if flat.numel() == 0:
        return (0.0, 0.0)
    signs = torch.randint(0, 2, flat.shape, generator=torch.Generator().manual_seed(0)).double() * 2 - 1
    scale = float(flat.square().mean().sqrt())
    return (scale, float((flat * signs).mean()) * flat.numel() ** 0.5 / (scale or 1.0))


def _unreached(drawn: Any, seed: int) -> list[str]:
    """Parameters from which no gradient path leads to an output: their bytes need not be read."""
    inputs, model = drawn()
    torch.manual_seed(seed)
    try:
        reached = [t for t in flatten(model(*inputs)) if t.requires_grad]
        if reached:
            torch.stack([tensor.double().sum() for tensor in reached]).sum().backward()
        elif any(True for _ in model.parameters()):
            return []  # an integer output has no gradient: nothing can be said
    except Exception:  # boundary: the problem's own code, which need not be differentiable
        return []
    return [name for name, tensor in model.named_parameters() if tensor.grad is None]


def _uninitialised(module: Any) -> list[str]:
    """Parameters and buffers that construction leaves, at least in part, as the memory happened to be.

    PyTorch fills what is allocated without a value with NaN while only deterministic algorithms are allowed.
    """
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        state = module.Model(*module.get_init_inputs()).state_dict()
    finally:
        torch.use_deterministic_algorithms(False)
    return [name for name, tensor in state.items() if tensor.is_floating_point() and bool(tensor.isnan().any())]


def _found(command: Command) -> dict[str, Any]:
    match command:
        case Describe():
            return describe(Path(command.path), command.math)
        case DescribeCall():
            return called(Path(command.path), command.math)
        case RunOnce():
            return run(Path(command.path), command.seed)
        case RequiredBytes():
            return certain(Path(command.path), command.domains, command.device, command.math, command.seed)
        case _:
            raise TypeError(f"the describer has no answer to {type(command).__name__}")


def _answer(command: Command) -> Answer:
    found = json.dumps(_found(command))
    with os.fdopen(command.descriptors[0], "w") as file:
        file.write(found)
    return {"event": "described"}


def serve(channel: socket.socket) -> None:
    """Answer commands until the parent hangs up."""
    serving.serve(channel, _answer)

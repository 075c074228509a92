"""Packages of kernels that nobody judged, written by hand: what a package does with a call needs no interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from factories import make_environment
from packages import imported

from kernelgauge.packaging.calls import Call, call_of
from kernelgauge.packaging.contents import Contents, Machine, Operator, Provenance, Variant
from kernelgauge.packaging.runtime.machine import machine_of
from kernelgauge.packaging.writing import file_of, write_package

Kernel = tuple[str, str]
"""Texts of a reference and of its candidate."""


def kernel(forward: str, answer: str, inputs: str, *, init: str = "", own: str = "pass") -> Kernel:
    """A reference whose forward returns one expression, and a candidate that returns another.

    Args:
        inputs: what `get_inputs` returns; its arguments are x, y and z.
        init: arguments of the constructor.
        own: a statement of both constructors, such as one that makes weights.
    """
    names = ", ".join("xyz"[: len(_evaluated(inputs))])
    text = (
        "import torch\n\n\nclass {name}(torch.nn.Module):\n    def __init__(self, *init):\n"
        f"        super().__init__()\n        {own}\n\n    def forward(self, {names}):\n        return {{returned}}\n"
    )
    drawn = f"\n\ndef get_inputs():\n    return {inputs}\n\n\ndef get_init_inputs():\n    return [{init}]\n"
    return text.format(name="Model", returned=forward) + drawn, text.format(name="ModelNew", returned=answer)


def handmade(
    out: Path,
    name: str,
    operators: Mapping[str, Sequence[Kernel]],
    *,
    math: str = "ieee",
    machine: Mapping[str, str] | None = None,
) -> ModuleType:
    """A package with these operators, written below `out` and imported.

    Args:
        machine: what is said of the class of machine that they were judged on, where it is another than this one.
    """
    write_handmade(out, name, operators, math=math, machine=machine)
    return imported(out, name)


def write_handmade(
    out: Path,
    name: str,
    operators: Mapping[str, Sequence[Kernel]],
    *,
    math: str = "ieee",
    machine: Mapping[str, str] | None = None,
) -> tuple[Path, Contents]:
    """The same, not imported: the module's folder, and what is in it."""
    files: dict[str, str] = {}
    made = [_operator(files, each, kernels, math, machine or {}) for each, kernels in operators.items()]
    contents = Contents(name=name, kernelgauge="0.1.0", operators=tuple(made), left_out=())
    return write_package(out, contents, files), contents


def _operator(
    files: dict[str, str], name: str, kernels: Sequence[Kernel], math: str, machine: Mapping[str, str]
) -> Operator:
    variants = []
    for number, (reference, candidate) in enumerate(kernels):
        home = f"winners/{name}/v{number}"
        texts = {f"{home}/candidate.py": candidate, f"{home}/reference.py": reference}
        files.update(texts)
        call = _call(reference)
        written = [file_of(path, text) for path, text in texts.items()]
        variants.append(
            Variant(
                backend="torch",
                math=math,
                machine=Machine(**{**machine_of("cpu"), **machine}),
                candidate=written[0],
                reference=written[1],
                inputs=call.inputs,
                arguments=call.arguments,
                state=call.state,
                results=call.results,
                provenance=_PROVENANCE,
            )
        )
    first = _call(kernels[0][0])
    return Operator(name=name, about=name, schema_=first.schema, arguments=first.names, variants=tuple(variants))


def _call(reference: str) -> Call:
    scope: dict[str, Any] = {}
    exec(reference, scope)
    model, inputs = scope["Model"](*scope["get_init_inputs"]()), scope["get_inputs"]()
    with torch.no_grad():
        found = model(*inputs)
    results = [found] if isinstance(found, torch.Tensor) else list(found)
    state = [*model.named_parameters(), *model.named_buffers()]
    described = {
        "inputs": [{"name": name, **_described(each)} for name, each in zip("xyz", inputs, strict=False)],
        "output": [_described(each) for each in results],
        "layout": {
            "changed": [],
            "random": [],
            "state": [{"name": name, **_described(each)} for name, each in state],
            "strides": [list(each.stride()) for each in results],
        },
    }
    call = call_of(described)
    assert isinstance(call, Call), call
    return call


def _described(each: Any) -> dict[str, Any]:
    if isinstance(each, torch.Tensor):
        return {"shape": list(each.shape), "dtype": str(each.dtype).removeprefix("torch.")}
    return {"value": each}


def _evaluated(inputs: str) -> list[Any]:
    return list(eval(inputs, {"torch": torch}))


_PROVENANCE = Provenance(
    record="none",
    problem="by hand",
    problem_digest="none",
    candidate_digest="none",
    contestant="nobody",
    protocol="none",
    protocol_digest="none",
    judged=datetime(2026, 11, 1, tzinfo=UTC),
    speedup=2.0,
    interval=(1.5, 2.5),
    confidence=0.95,
    reference_ms=2.0,
    candidate_ms=1.0,
    error=0.0,
    allowed=1e-4,
    worst=0.0,
    environment=make_environment(),
    licence="MIT",
)

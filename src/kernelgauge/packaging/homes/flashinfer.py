"""A trace set for FlashInfer-Bench: definitions, solutions, workloads and traces; our guard is in each solution.

Form of version 0.1.2. Its own choice compares axes alone, so a solution is the package itself: what it was not judged
for goes to its reference.
"""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

from kernelgauge.packaging.contents import Contents, Operator, Variant
from kernelgauge.packaging.homes.own_folders import emptied
from kernelgauge.store.disk import guarded

_MAIN = """import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import {name}


def run({arguments}):
    return {name}.operators["{operator}"]({arguments})
"""
_RUN = """

def run({arguments}):
    device = next(each.device for each in ({arguments},) if isinstance(each, torch.Tensor))
    with torch.no_grad():
        model = Model(*get_init_inputs()).to(device)
        weights = dict(zip({state!r}, ({weights})))
        return torch.func.functional_call(model, weights, ({inputs}))
"""
_TYPES = {bool: "bool", int: "int64", float: "float32"}


def write(out: Path, module: Path, contents: Contents) -> Path:
    """Write `flashinfer/` below `out`. Raises StoreError."""
    home = out / "flashinfer"
    sources = [
        {"path": f"{contents.name}/{path.relative_to(module).as_posix()}", "content": path.read_text()}
        for path in sorted(module.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts and path.read_text().strip()
    ]
    with guarded(home):
        emptied(home)
        for operator in contents.operators:
            _write_operator(home, module, contents, operator, sources)
    return home


def _write_operator(
    home: Path, module: Path, contents: Contents, operator: Operator, sources: list[dict[str, str]]
) -> None:
    kind, name = contents.name, operator.name
    definition, axes = _definition(module, contents, operator)
    main = _MAIN.format(name=contents.name, operator=name, arguments=", ".join(operator.arguments))
    solution = {
        "name": f"{contents.name}_{name}",
        "definition": name,
        "author": operator.variants[0].provenance.contestant,
        "spec": {
            "language": "python",
            "target_hardware": [operator.variants[0].machine.name],
            "entry_point": "main.py::run",
            "dependencies": [],
            "destination_passing_style": False,
        },
        "sources": [{"path": "main.py", "content": main}, *sources],
    }
    workloads, traces = [], []
    for variant in operator.variants:
        workload = {
            "axes": _axes_of(axes, operator, variant),
            "inputs": {n: _input(a) for n, a in zip(operator.arguments, variant.arguments, strict=True)},
            "uuid": str(uuid.uuid5(uuid.NAMESPACE_OID, variant.provenance.record)),
        }
        workloads.append({"definition": name, "workload": workload, "solution": None, "evaluation": None})
        traces.append(
            {
                "definition": name,
                "workload": workload,
                "solution": solution["name"],
                "evaluation": _evaluation(variant),
            }
        )
    _put(home / "definitions" / kind / f"{name}.json", json.dumps(definition, indent=1))
    _put(home / "solutions" / kind / name / f"{solution['name']}.json", json.dumps(solution, indent=1))
    _put(home / "workloads" / kind / f"{name}.jsonl", "\n".join(map(json.dumps, workloads)))
    _put(home / "traces" / kind / f"{name}.jsonl", "\n".join(map(json.dumps, traces)))


def _definition(module: Path, contents: Contents, operator: Operator) -> tuple[dict[str, Any], list[list[str]]]:
    """A definition whose every dimension is an axis, and the axes of each argument."""
    first, axes = operator.variants[0], []
    for number, given in enumerate(first.arguments):
        axes.append([f"a{number}_{n}" for n in range(len(given.get("shape", ())))])
    known = {
        size: name for names, given in zip(axes, first.arguments, strict=True) for name, size in _pairs(names, given)
    }
    outputs, fixed = {}, {}
    for number, result in enumerate(first.results):
        names = []
        for n, size in enumerate(result["shape"]):
            name = known.get(size, f"r{number}_{n}")
            if name.startswith("r"):
                fixed[name] = {"type": "const", "value": size}
            names.append(name)
        outputs[f"result_{number}"] = {"shape": names, "dtype": result["dtype"]}
    inputs = {
        name: {"shape": names, "dtype": given["dtype"]}
        if "shape" in given
        else {"shape": None, "dtype": _TYPES[type(given["value"])]}
        for name, names, given in zip(operator.arguments, axes, first.arguments, strict=True)
    }
    taken = operator.arguments[: first.inputs]
    weights = operator.arguments[first.inputs :]
    run = _RUN.format(
        arguments=", ".join(operator.arguments),
        state=first.state,
        weights="".join(f"{each}, " for each in weights),
        inputs="".join(f"{each}, " for each in taken),
    )
    variable = {name: {"type": "var"} for names in axes for name in names}
    reference = "import torch\n" + (module / first.reference.file).read_text() + run
    described = {
        "name": operator.name,
        "op_type": contents.name,
        "axes": {**variable, **fixed},
        "inputs": inputs,
        "outputs": outputs,
        "reference": _future_first(reference),
        "description": operator.about,
    }
    return described, axes


def _pairs(names: list[str], given: dict[str, Any]) -> list[tuple[str, int]]:
    return list(zip(names, given.get("shape", ()), strict=True))


def _future_first(text: str) -> str:
    line = "from __future__ import annotations\n"
    return line + text.replace(line, "") if line in text else text


def _axes_of(axes: list[list[str]], operator: Operator, variant: Variant) -> dict[str, int]:
    return {
        name: size
        for names, given in zip(axes, variant.arguments, strict=True)
        for name, size in _pairs(names, given)
    }


def _input(given: dict[str, Any]) -> dict[str, Any]:
    return {"type": "random"} if "shape" in given else {"type": "scalar", "value": given["value"]}


def _evaluation(variant: Variant) -> dict[str, Any]:
    came = variant.provenance
    return {
        "status": "PASSED",
        "environment": {"hardware": variant.machine.name, "libs": {"torch": came.environment.torch}},
        "timestamp": came.judged.isoformat(),
        "log": "",
        "correctness": {
            "max_relative_error": came.worst,
            "max_absolute_error": came.worst,
            "extra": {"unit": "of the largest element's error: the root mean square of the float64 output"},
        },
        "performance": {
            "latency_ms": came.candidate_ms,
            "reference_latency_ms": came.reference_ms,
            "speedup_factor": came.speedup,
        },
    }


def _put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n")

"""The child process of the compiler contestant: a request on stdin, an answer on stdout, both JSON.

Request: `key`, `source`, `device`, `threads`, `math`. Answer: `source` and `torch` (its version), or `reason`.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from kernelgauge.config import MathMode
from kernelgauge.generation.constructor import Unwritable, constructor
from kernelgauge.generation.inductor_capture import Captured
from kernelgauge.generation.inductor_numbers import capture_for_all_numbers
from kernelgauge.generation.inductor_text import candidate_text
from kernelgauge.wire.math_modes import cast

SEED = 0
WORDS = 1500
"""Characters of torch's own message that a reason quotes."""


def main() -> None:
    # Whatever the reference or the compiler prints must not end up in the answer.
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    request = json.loads(sys.stdin.read())
    with answer:
        json.dump(_answer(request), answer)
    os._exit(0)  # taking the compiler apart would take a second


def _answer(request: dict[str, Any]) -> dict[str, str]:
    if request["device"] == "cuda" and not torch.cuda.is_available():
        return {"reason": "Inductor needs the GPU it writes kernels for, and torch sees none here."}
    if request["threads"] is not None:
        torch.set_num_threads(request["threads"])
    try:
        reference = _module(request["source"])
        captured = _captured(reference, request["device"], request["math"])
        text = _checked_constructor(request["source"], reference, captured)
        source = candidate_text(request["key"], request["device"], captured, text)
    except Unwritable as reason:
        return {"reason": str(reason)}
    except Exception as error:
        traceback.print_exc()
        return {"reason": f"{type(error).__name__}: {str(error).strip()[:WORDS]}"}
    return {"source": source, "torch": torch.__version__}


def _module(source: str) -> ModuleType:
    # A real file, because parts of torch read the source of what they trace.
    path = Path("reference.py")
    path.write_text(source)
    spec = importlib.util.spec_from_file_location("reference", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["reference"] = module
    spec.loader.exec_module(module)
    return module


def _captured(reference: ModuleType, device: str, math: MathMode) -> Captured:
    torch.manual_seed(SEED)
    model = cast(reference.Model(*reference.get_init_inputs()).to(device), math)
    with torch.device(device):
        inputs = list(reference.get_inputs())
    inputs = torch.utils._pytree.tree_map_only(torch.Tensor, lambda tensor: cast(tensor.to(device), math), inputs)
    return capture_for_all_numbers(model, inputs, vars(reference))


def _checked_constructor(source: str, reference: ModuleType, captured: Captured) -> Any:
    """The constructor's text, with as little of the reference as still builds the same weights.

    Dropping the methods that nothing seems to call can break a constructor (one that runs its own layers, or
    overrides a hook that torch calls), so the short text is built and compared before it is believed.
    """
    arguments = reference.get_init_inputs
    expected = _weights(reference.Model, arguments)
    for prune in (True, False):
        text = constructor(source, captured.forward_owner, captured.names, prune)
        scope: dict[str, Any] = {"__name__": "candidate"}
        try:
            exec(compile(text.render("raise NotImplementedError"), "candidate.py", "exec"), scope)
            built = _weights(scope["ModelNew"], arguments)
        except Exception:
            traceback.print_exc()
            continue
        if _same(expected, built):
            return text
    raise Unwritable("The reference's constructor does not build the same weights outside its own file.")


def _weights(model: Any, arguments: Any) -> dict[str, Any]:
    torch.manual_seed(SEED)
    weights = dict(model(*arguments()).state_dict())
    # Where the random generator stands afterwards decides what dropout draws.
    return weights | {"": torch.get_rng_state()}


def _same(expected: dict[str, Any], built: dict[str, Any]) -> bool:
    if list(expected) != list(built):
        return False
    return all(_equal(value, built[name]) for name, value in expected.items())


def _equal(expected: Any, built: Any) -> bool:
    if not isinstance(expected, torch.Tensor):
        return True
    if expected.shape != built.shape or expected.dtype != built.dtype:
        return False
    return torch.allclose(expected, built, rtol=0, atol=0, equal_nan=True)

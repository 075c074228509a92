"""A folder for Hugging Face's `kernels`: layers without state, over the weights of the module that they replace.

Form of version 0.17: `build/<variant>/metadata.json`, `__init__.py` and `layers.py`. A layer is a forward and nothing
else, so what a constructor was given is the reference's. Its first call is compared with the module's own forward.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from kernelgauge.packaging.contents import Contents, Operator
from kernelgauge.packaging.homes.own_folders import emptied
from kernelgauge.store.disk import guarded

_START = '''"""Layers whose forward asks {name}, which is beside this file."""

import sys
from pathlib import Path

import torch

_HOME = str(Path(__file__).parent)
if _HOME not in sys.path:
    sys.path.insert(0, _HOME)

import {name}  # noqa: E402

_SAME = "_{name}_agrees"


def _answer(module, operator, weights, inputs):
    """The operator's answer, if its first one agreed with the module's own forward; else that."""
    own = type(module).forward
    state = []
    for path in weights:
        value = module
        for part in path.split("."):
            value = getattr(value, part, None)
        if value is None:
            return own(module, *inputs)
        state.append(value)
    arguments = (*inputs, *state)
    if operator.ready(arguments) is not None:
        if not torch.compiler.is_compiling():
            operator.misses[operator.ready(arguments)] += 1
        return own(module, *inputs)
    same = module.__dict__.get(_SAME)
    if same is None:
        wanted = own(module, *inputs)
        if torch.compiler.is_compiling():
            return wanted
        found = operator(*arguments)
        scale = wanted.double().square().mean().sqrt()
        same = bool((found.double() - wanted.double()).square().mean().sqrt() <= 1e-3 * scale)
        module.__dict__[_SAME] = same
    return operator(*arguments) if same else own(module, *inputs)
'''
_LAYER = '''

class {layer}(torch.nn.Module):
    """{about}"""

    can_torch_compile = True
    has_backward = False

    def forward(self, {inputs}):
        return _answer(self, {name}.operators["{operator}"], {state!r}, ({given}))
'''


def write(out: Path, module: Path, contents: Contents) -> Path:
    """Write `huggingface/` below `out`. Raises StoreError."""
    kind = contents.operators[0].variants[0].machine.device
    home = out / "huggingface"
    folder = home / "build" / f"torch-{kind}"
    with guarded(home):
        emptied(home)
        shutil.copytree(module, folder / contents.name, ignore=shutil.ignore_patterns("__pycache__"))
        (folder / "__init__.py").write_text('from . import layers\n\n__all__ = ["layers"]\n')
        layers = [_layer(contents.name, operator) for operator in contents.operators if _single(operator)]
        (folder / "layers.py").write_text(_START.format(name=contents.name) + "".join(layers))
        (folder / "metadata.json").write_text(json.dumps(_metadata(contents, kind), indent=1) + "\n")
    return home


def layer_name(operator: str) -> str:
    """`rms_norm` is `RmsNorm`."""
    return "".join(part.capitalize() for part in operator.split("_"))


def _single(operator: Operator) -> bool:
    return len(operator.variants[0].results) == 1


def _layer(name: str, operator: Operator) -> str:
    first = operator.variants[0]
    inputs = operator.arguments[: first.inputs]
    return _LAYER.format(
        layer=layer_name(operator.name),
        about=operator.about,
        inputs=", ".join(inputs),
        given="".join(f"{each}, " for each in inputs),
        name=name,
        operator=operator.name,
        state=first.state,
    )


def _metadata(contents: Contents, kind: str) -> dict[str, object]:
    name = contents.name.replace("_", "-")
    return {
        "id": f"_{contents.name}_{kind}_{contents.created:%Y%m%d%H%M%S}",
        "name": name,
        "version": 1,
        "license": contents.operators[0].variants[0].provenance.licence,
        "python-depends": [],
        "backend": {"type": kind},
    }

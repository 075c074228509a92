"""A folder for BackendBench: kernels for operators of ATen, where a reference is one call of such an operator.

Its contract: `generated_kernels/<op>__<overload>/<op>__<overload>_implementation*.py` defines
`<op>__<overload>_kernel_impl`, which takes the operator's place for one dispatch key.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

from kernelgauge.errors import MachineError
from kernelgauge.packaging.contents import Contents
from kernelgauge.packaging.homes.own_folders import emptied
from kernelgauge.store.disk import guarded

_KERNEL = '''"""`aten::{op}.{overload}`: a judged kernel where it was judged, PyTorch's own for every other call."""

import sys
from pathlib import Path

import torch

_HOME = str(Path(__file__).parents[1] / "packages")
if _HOME not in sys.path:
    sys.path.insert(0, _HOME)

import {name}  # noqa: E402

_OPERATOR = {name}.operators["{operator}"]
# Before this file takes its place.
_OWN = torch.library.get_kernel(torch.ops.aten.{op}.{overload}, "{key}")
_KEYS = torch._C.DispatchKeySet(torch._C.DispatchKey.{key})
# The judged call: a number is an argument of the operator, everything else a value.
_ARGUMENTS = {arguments!r}
_ORDER = {order!r}


def _same(found, value):
    return type(found) is type(value) and found == value


def {folder}_kernel_impl(*args, **kwargs):
    if not kwargs and len(args) == len(_ARGUMENTS):
        same = all(place or _same(args[n], value) for n, (place, value) in enumerate(_ARGUMENTS))
        inputs = tuple(args[n] for n in _ORDER)
        if same:
            reason = _OPERATOR.unusable(inputs)
            if reason is None:
                return _OPERATOR.kernel(inputs)
            _OPERATOR.misses[reason] += 1
    return _OWN.call_boxed(_KEYS, *args, **kwargs)
'''


def write(out: Path, module: Path, contents: Contents) -> Path:
    """Write `backendbench/generated_kernels` below `out`, for those operators that are one call of ATen.

    Raises:
        StoreError: the disk refuses.
        MachineError: the package's references could not be traced.
    """
    calls = _single_calls(module, contents.name)
    home = out / "backendbench" / "generated_kernels"
    with guarded(home):
        emptied(home.parent)
        packages = home / "packages"
        shutil.copytree(module, packages / contents.name, ignore=shutil.ignore_patterns("__pycache__"))
        for operator, call in calls.items():
            folder = f"{call['op']}__{call['overload']}"
            (home / folder).mkdir()
            device = contents.operators[0].variants[0].machine.device
            text = _KERNEL.format(name=contents.name, operator=operator, key=device.upper(), folder=folder, **call)
            (home / folder / f"{folder}_implementation_v1.py").write_text(text)
    return home


def _single_calls(module: Path, name: str) -> dict[str, dict]:
    """By operator the one call of ATen that its reference is, where it is one; asked in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "kernelgauge.packaging.homes.single_calls", str(module.parent), name],
        capture_output=True,
        text=True,
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise MachineError(f"the references of {name} could not be traced: {last}")
    found: dict[str, dict] = json.loads(done.stdout)
    return found

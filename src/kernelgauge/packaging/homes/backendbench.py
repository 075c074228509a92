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

_KERNEL = '''"""`aten::{op}.{overload}`: judged kernels where they were judged, PyTorch's own for every other call."""

import sys
from pathlib import Path

import torch

_HOME = str(Path(__file__).parents[1] / "packages")
if _HOME not in sys.path:
    sys.path.insert(0, _HOME)

import {name}  # noqa: E402

# Before this file takes its place.
_OWN = torch.library.get_kernel(torch.ops.aten.{op}.{overload}, "{key}")
_KEYS = torch._C.DispatchKeySet(torch._C.DispatchKey.{key})
# Operator, arguments of its judged call (whether it is an input, else its value), and where the inputs stand.
_JUDGED = [
{judged}]


def _fits(args, arguments):
    if len(args) != len(arguments):
        return False
    return all(
        place or (type(found) is type(value) and found == value)
        for found, (place, value) in zip(args, arguments)
    )


def {folder}_kernel_impl(*args, **kwargs):
    missed = []
    for operator, arguments, order in _JUDGED:
        if not kwargs and _fits(args, arguments):
            inputs = tuple(args[n] for n in order)
            reason = operator.unusable(inputs)
            if reason is None:
                return operator.kernel(inputs)
            missed.append((operator, reason))
    for operator, reason in missed:
        operator.misses[reason] += 1
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
        key = contents.operators[0].variants[0].machine.device.upper()
        for (op, overload), judged in _by_overload(contents.name, calls).items():
            folder = f"{op}__{overload}"
            (home / folder).mkdir()
            text = _KERNEL.format(name=contents.name, key=key, folder=folder, op=op, overload=overload, judged=judged)
            (home / folder / f"{folder}_implementation_v1.py").write_text(text)
    return home


def _by_overload(name: str, calls: dict[str, dict]) -> dict[tuple[str, str], str]:
    """By ATen's operator and overload what was judged of it, as lines of Python."""
    found: dict[tuple[str, str], str] = {}
    for operator, call in calls.items():
        line = f'    ({name}.operators["{operator}"], {call["arguments"]!r}, {call["order"]!r}),\n'
        overload = (call["op"], call["overload"])
        found[overload] = found.get(overload, "") + line
    return found


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

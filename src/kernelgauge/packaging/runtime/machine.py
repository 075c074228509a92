"""Whether this machine is one of the class on which the kernels of a package were judged."""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import torch


def machine_of(device: str) -> dict[str, Any]:
    """What must agree: the device by name and capability, and PyTorch. `device` is `cpu`, `cuda` or `cuda:1`."""
    kind = device.partition(":")[0]
    if kind == "cuda":
        name, capability = (
            torch.cuda.get_device_name(device),
            "{}.{}".format(*torch.cuda.get_device_capability(device)),
        )
    else:
        name, capability = _processor(), torch.backends.cpu.get_cpu_capability()
    return {"device": kind, "name": name, "capability": capability, "torch": _release(torch.__version__)}


@cache
def why_other(device: str, judged_on: tuple[tuple[str, Any], ...]) -> str | None:
    """Why kernels that were judged there are not used on this device here, in a sentence; None if they are."""
    if device.startswith("cuda") and not torch.cuda.is_available():
        return f"they were judged on {dict(judged_on)['name']}, and there is no GPU here"
    here = machine_of(device)
    for name, what in (("device", "on"), ("name", "on"), ("capability", "for"), ("torch", "with PyTorch")):
        wanted = dict(judged_on)[name]
        if wanted is not None and here[name] != wanted:
            return f"they were judged {what} {wanted}, and this is {here[name]}"
    return None


def indexed(device: str) -> str:
    """The device with its number, as tensors have it: `cuda` is the current one where there is a GPU."""
    return f"cuda:{torch.cuda.current_device()}" if device == "cuda" and torch.cuda.is_available() else device


def on(device: str) -> AbstractContextManager[Any]:
    """With this device the current one: a kernel is launched on that, wherever its tensors are."""
    return torch.cuda.device(device) if device.startswith("cuda") else nullcontext()


def multiplies_in_tf32() -> bool:
    """Whether PyTorch may use TF32 in products of matrices."""
    # The older `allow_tf32` raises once somebody has used this one.
    return bool(torch.backends.cuda.matmul.fp32_precision == "tf32")


def missing_tool(backend: str, triton: str | None) -> str | None:
    """What a kernel of this language cannot be built without, in a sentence; None if it is here."""
    if backend == "cpp" and not shutil.which(os.environ.get("CXX") or "g++"):
        return "there is no C++ compiler on the path"
    if backend == "triton":
        if importlib.util.find_spec("triton") is None:
            return "Triton is not installed"
        if triton and _release(metadata.version("triton")) != _release(triton):
            return f"they were judged with Triton {triton}, and this is {metadata.version('triton')}"
    return None


def lacked(error: Exception) -> str | None:
    """What is not on this machine, a module or a compiler, where a kernel failed with this error; in a sentence, the
    same for all kernels that need it. None if the fault is another one."""
    if isinstance(error, ModuleNotFoundError) and error.name:
        return f"the module {error.name} is not installed"
    if "Ninja is required" in str(error):
        return "ninja, by which PyTorch builds extensions, is not installed"
    if "CUDA_HOME" in str(error) or "nvcc" in str(error):
        from torch.utils.cpp_extension import CUDA_HOME

        if not CUDA_HOME or not Path(CUDA_HOME, "bin", "nvcc").exists():
            return "there is no CUDA compiler: nvcc is neither on the path nor under CUDA_HOME"
    return None


def _release(version: str) -> str:
    return version.partition("+")[0]


@cache
def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()

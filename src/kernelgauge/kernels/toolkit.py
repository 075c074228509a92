"""Where CUDA is on this machine and what to compile for."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
from functools import cache
from pathlib import Path

from kernelgauge.hardware.environment import first_line

ARCHITECTURE = "KERNELGAUGE_ARCHITECTURE"
"""Variable that names what to compile for on a machine without the GPU that it is compiled for."""

# Whose instructions of their own (wgmma and TMA on Hopper, tcgen05 on Blackwell) need the suffix `a`.
_WITH_OWN_INSTRUCTIONS = {"9.0", "10.0", "10.3", "12.0", "12.1"}


@cache
def cuda_home() -> Path | None:
    """Root of the CUDA toolkit: CUDA_HOME, /usr/local/cuda, or two levels above nvcc; None without nvcc."""
    found = shutil.which("nvcc")
    places = [
        os.environ.get("CUDA_HOME"),
        "/usr/local/cuda",
        found and str(Path(found).resolve().parent.parent),
    ]
    for place in places:
        if place and (Path(place) / "bin" / "nvcc").exists():
            return Path(place)
    return None


@cache
def architecture() -> str:
    """What to compile for, in PyTorch's words (`8.0`, `9.0a`): the GPU in use, Hopper where there is none."""
    if named := os.environ.get(ARCHITECTURE):
        return named
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")[0].strip()
    which = (f"--id={visible}",) if visible else ()
    question = ("--query-gpu=compute_cap", "--format=csv,noheader")
    capability = first_line("nvidia-smi", *which, *question) or first_line("nvidia-smi", *question) or "9.0"
    return capability + "a" * (capability in _WITH_OWN_INSTRUCTIONS)


def architectures() -> list[str]:
    """The numbers (`80`, `90a`) this process compiles for: those in TORCH_CUDA_ARCH_LIST, or the machine's."""
    wanted = os.environ.get("TORCH_CUDA_ARCH_LIST") or architecture()
    return [entry.removesuffix("+PTX").replace(".", "") for entry in re.split(r"[; ]+", wanted.strip())]


def wheel_folders() -> list[Path]:
    """Folders of NVIDIA's wheels with libraries and headers, such as `nvidia/cu13`: PyTorch with CUDA brings them."""
    spec = importlib.util.find_spec("nvidia")
    places = list(spec.submodule_search_locations or []) if spec else []
    return [folder for place in places for folder in sorted(Path(place).iterdir(), reverse=True) if folder.is_dir()]

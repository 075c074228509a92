"""Backend `cuda`: CUDA C++ through PyTorch's inline extension; builds wherever nvcc is, runs where a GPU is."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from kernelgauge.backends.base import Backend
from kernelgauge.backends.cpp import instruction_set
from kernelgauge.backends.loading import import_file
from kernelgauge.hardware import cuda_compiler, first_line, gpu, package_version

_PREAMBLE = "#include <torch/types.h>\n#include <cuda.h>\n#include <cuda_runtime.h>\n"


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


def architecture() -> str:
    """Compute capability of the first GPU as torch's build wants it (`9.0`); Hopper's where there is none."""
    return first_line("nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader") or "9.0"


@dataclass(frozen=True)
class CudaBackend(Backend):
    name: str = "cuda"
    devices: tuple[str, ...] = ("cuda",)
    compiles: bool = True

    def missing(self, device: str) -> str | None:
        if reason := super().missing(device) or self.cannot_build():
            return reason
        if gpu() is None:
            return "no NVIDIA GPU is visible here: nvidia-smi lists none (`kernelgauge build` still compiles)"
        return None

    def cannot_build(self) -> str | None:
        if cuda_home() is None:
            return "no CUDA compiler: nvcc is neither on the path nor under CUDA_HOME"
        return None

    def environment(self, device: str, scratch: Path) -> dict[str, str]:
        home = cuda_home()
        return {"TORCH_CUDA_ARCH_LIST": architecture()} | ({"CUDA_HOME": str(home)} if home else {})

    def fingerprint(self) -> str:
        compilers = f"{first_line('g++', '--version')} {instruction_set()} {cuda_compiler()} {architecture()}"
        return f"{package_version('torch')} {compilers}"

    def build(self, path: Path, build_dir: Path) -> None:
        import torch

        from kernelgauge.backends.extension import capturing

        linkable = torch.version.cuda is not None
        with capturing(build_dir, None if linkable else compile_only):
            try:
                import_file(path, "candidate")
            except CompiledOnly:
                pass

    def load(self, path: Path, build_dir: Path | None) -> ModuleType:
        from kernelgauge.backends.extension import capturing

        with capturing(build_dir):
            return import_file(path, "candidate")


class CompiledOnly(Exception):
    """The device code compiled, but this PyTorch has no CUDA to link against: the import cannot go on."""


def compile_only(name: str, cuda_sources: Any, build_directory: str, **options: Any) -> None:
    """Compile the CUDA sources of one extension to an object file, without linking.

    Raises:
        RuntimeError: nvcc refused, with what it printed.
        CompiledOnly: it compiled.
    """
    from torch.utils.cpp_extension import COMMON_NVCC_FLAGS, include_paths

    home = cuda_home()
    if home is None:
        raise RuntimeError("nvcc is not installed")
    sources = [cuda_sources] if isinstance(cuda_sources, str) else list(cuda_sources)
    source = Path(build_directory) / "cuda.cu"
    preamble = "" if options.get("no_implicit_headers") else _PREAMBLE
    source.write_text(preamble + "\n".join(sources))
    python = sysconfig.get_path("include", scheme="posix_prefix")  # torch/extension.h includes Python.h
    includes = [f"-I{folder}" for folder in [*include_paths(), python, *(options.get("extra_include_paths") or [])]]
    # The flags that PyTorch's own build adds, so that both accept the same sources.
    flags = [
        *COMMON_NVCC_FLAGS,
        "-std=c++20",
        "-DC10_CUDA_NO_CMAKE_CONFIGURE_FILE",  # a header that only a PyTorch with CUDA brings
        *(options.get("extra_cuda_cflags") or []),
    ]
    if not any("arch" in flag for flag in flags):
        flags.append("-arch=sm_" + architecture().replace(".", ""))
    command = [
        str(home / "bin" / "nvcc"),
        "-c",
        str(source),
        "-o",
        str(source.with_suffix(".o")),
        *includes,
        *flags,
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"nvcc refused extension {name}:\n{done.stdout}{done.stderr}")
    raise CompiledOnly(name)

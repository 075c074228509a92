"""Backend `cpp`: C++ with OpenMP through PyTorch's inline extension, and TorchInductor's C++.

On a GPU such a file has no kernel, but it may call PyTorch's: it is a candidate there, and the rules judge it.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType

from kernelgauge.backends.base import Backend, Route
from kernelgauge.backends.cache import BuildCache
from kernelgauge.backends.loading import import_file
from kernelgauge.backends.slim.routes import extension_routes, recipe
from kernelgauge.backends.toolchain import compilers, torch_build
from kernelgauge.hardware.environment import missing_device
from kernelgauge.kernels.toolkit import cuda_home
from kernelgauge.schema import digest


@cache
def instruction_set() -> str:
    """Digest of the CPU's instruction set: what `-march=native` compiles for, so it is part of a build's content."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return "unknown"
    return digest(next((line for line in lines if line.startswith(("flags", "Features"))), ""))


@dataclass(frozen=True)
class CppBackend(Backend):
    name: str = "cpp"
    title: str = "C++ with OpenMP"
    devices: tuple[str, ...] = ("cpu",)
    compiles: bool = True
    builds_on_host: bool = True
    compiles_ahead: bool = True

    def missing(self, device: str) -> str | None:
        unknown = None if device == "cuda" else super().missing(device)
        return unknown or self.cannot_build() or missing_device(device)

    def environment(self, device: str, scratch: Path) -> dict[str, str]:
        home = cuda_home()  # an extension may ask to be linked against CUDA
        return {"CUDA_HOME": str(home)} if home and device != "cpu" else {}

    def cannot_build(self) -> str | None:
        if shutil.which("g++") is None:
            return "no C++ compiler: g++ is not on the path (Debian: apt-get install g++)"
        return None

    def preload(self, source: str, device: str) -> tuple[str, ...]:
        inductor = ("torch._inductor.async_compile", "torch._inductor.select_algorithm")
        return inductor if "torch._inductor" in source else ("torch.utils.cpp_extension",)

    def fingerprint(self) -> str:
        return f"{torch_build()} {compilers(cuda=False)} {instruction_set()} {recipe()}"

    def routes(self, source: str, builds: BuildCache) -> tuple[Route, ...]:
        if "cpp_extension" not in source:
            return super().routes(source, builds)
        return extension_routes(source, builds, cuda=False)

    def build(self, path: Path, build_dir: Path) -> None:
        self.load(path, build_dir)

    def load(self, path: Path, build_dir: Path | None) -> ModuleType:
        from kernelgauge.backends.extension import capturing

        with capturing(build_dir):
            return import_file(path, "candidate")

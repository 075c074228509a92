"""Backend `cuda`: CUDA C++ by PyTorch's extensions or `kernelgauge.kernels`; builds where nvcc is, runs on a GPU."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from kernelgauge.backends.base import Backend, Route
from kernelgauge.backends.cache import BuildCache
from kernelgauge.backends.cpp import instruction_set
from kernelgauge.backends.loading import import_file
from kernelgauge.backends.slim.routes import extension_routes, recipe
from kernelgauge.backends.toolchain import compilers, torch_build
from kernelgauge.hardware.environment import missing_device
from kernelgauge.kernels import nvrtc
from kernelgauge.kernels.building import keeping
from kernelgauge.kernels.toolkit import architecture, cuda_home

__all__ = ["CudaBackend", "cuda_home"]


@dataclass(frozen=True)
class CudaBackend(Backend):
    name: str = "cuda"
    title: str = "CUDA C++"
    devices: tuple[str, ...] = ("cuda",)
    compiles: bool = True
    builds_on_host: bool = True
    compiles_ahead: bool = True

    def missing(self, device: str) -> str | None:
        if reason := super().missing(device) or self.cannot_build():
            return reason
        if reason := missing_device(device):
            return f"{reason} (`kernelgauge build` still compiles)"
        return None

    def cannot_build(self) -> str | None:
        if cuda_home() is None:
            return "no CUDA compiler: nvcc is neither on the path nor under CUDA_HOME"
        return None

    def environment(self, device: str, scratch: Path) -> dict[str, str]:
        home = cuda_home()
        variables = {"TORCH_CUDA_ARCH_LIST": architecture()} | ({"CUDA_HOME": str(home)} if home else {})
        # Where CUTLASS is, a candidate may name its headers: CuTe in C++ is CUDA like any other.
        cutlass = os.environ.get("CUTLASS_PATH")
        return variables | ({"CUTLASS_PATH": cutlass} if cutlass else {})

    def libraries(self) -> tuple[Path, ...]:
        cutlass = os.environ.get("CUTLASS_PATH")
        return (Path(cutlass).absolute() / "include",) if cutlass else ()

    def preload(self, source: str, device: str) -> tuple[str, ...]:
        return ("torch.utils.cpp_extension",) if "cpp_extension" in source else ()

    def fingerprint(self) -> str:
        return f"{torch_build()} {compilers(cuda=True)} {nvrtc.identity()} {instruction_set()} {recipe()}"

    def routes(self, source: str, builds: BuildCache) -> tuple[Route, ...]:
        return extension_routes(source, builds, cuda=True)

    def build(self, path: Path, build_dir: Path) -> None:
        import torch
        from torch.utils import cpp_extension

        from kernelgauge.backends.compile_only import compile_only
        from kernelgauge.backends.extension import CompiledOnly, capturing

        inline, files = cpp_extension.load_inline, cpp_extension.load
        if torch.version.cuda is None:
            inline, files = compile_only(inline), compile_only(files)
        with capturing(build_dir, inline, files), keeping(build_dir):
            try:
                import_file(path, "candidate")
            except CompiledOnly:
                pass

    def load(self, path: Path, build_dir: Path | None) -> ModuleType:
        from kernelgauge.backends.extension import capturing

        with capturing(build_dir), keeping(build_dir):
            return import_file(path, "candidate")

"""Backend `hip`: HIP C++ for AMD's GPUs by PyTorch's extensions; compiles where hipcc is, runs with ROCm's PyTorch.

Never run on a GPU: what is proved is which commands reach hipcc (docs/reference/languages.md).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from kernelgauge.backends.base import Route
from kernelgauge.backends.cache import BuildCache
from kernelgauge.backends.cpp import instruction_set
from kernelgauge.backends.cuda import CudaBackend
from kernelgauge.backends.loading import import_file
from kernelgauge.backends.slim.routes import recipe
from kernelgauge.backends.toolchain import torch_build
from kernelgauge.hardware.environment import first_line, package_version
from kernelgauge.kernels.toolkit import ARCHITECTURE

_ROOT = "ROCM_HOME"
_DEFAULT_ROOT = "/opt/rocm"
_DEFAULT_ARCHITECTURE = "gfx942"
# Where AMD's driver describes what it drives: `gfx_target_version 90402` is gfx942.
_NODES = Path("/sys/class/kfd/kfd/topology/nodes")
# PyTorch's headers by Clang, for the host and the device: a guess from `cuda` extensions, not measured.
_GIGABYTES = 4.6


@dataclass(frozen=True)
class HipBackend(CudaBackend):
    name: str = "hip"
    title: str = "HIP C++ (ROCm)"
    compiles_ahead: bool = True

    def missing(self, device: str) -> str | None:
        if reason := self.elsewhere(device) or self.cannot_build():
            return reason
        torch = package_version("torch") or ""
        if "rocm" not in torch:
            return f"PyTorch {torch} is built without ROCm (`kernelgauge build` still compiles): install one that is"
        if not amd_architectures():
            return f"no AMD GPU is visible here: {_NODES} lists none"
        return None

    def cannot_build(self) -> str | None:
        if rocm_home() is None:
            return f"no HIP compiler: hipcc is neither on the path nor under {_ROOT} or {_DEFAULT_ROOT}"
        return None

    def environment(self, device: str, scratch: Path) -> dict[str, str]:
        home = rocm_home()
        return {"PYTORCH_ROCM_ARCH": hip_architecture()} | ({_ROOT: str(home)} if home else {})

    def libraries(self) -> tuple[Path, ...]:
        home = rocm_home()
        return (home,) if home else ()

    def fingerprint(self) -> str:
        home = rocm_home()
        compiler = first_line(str(home / "bin" / "hipcc"), "--version") if home else None
        return f"{torch_build()} {home} {compiler} {hip_architecture()} {instruction_set()} {recipe()}"

    def routes(self, source: str, builds: BuildCache) -> tuple[Route, ...]:
        return (Route("full", _GIGABYTES),)  # slim headers are cut for CUDA

    def build(self, path: Path, build_dir: Path) -> None:
        import torch
        from torch.utils import cpp_extension

        from kernelgauge.backends.compile_only import compile_only
        from kernelgauge.backends.extension import CompiledOnly, capturing

        if torch.version.hip is not None:
            with capturing(build_dir):
                import_file(path, "candidate")
            return
        inline, files = compile_only(cpp_extension.load_inline), compile_only(cpp_extension.load)
        with _as_with_rocm(Path(os.environ[_ROOT])), capturing(build_dir, inline, files):
            try:
                import_file(path, "candidate")
            except CompiledOnly:
                pass


def rocm_home(program: str = "hipcc") -> Path | None:
    """Root of ROCm: ROCM_HOME, above that program on the path, /opt/rocm; None where the program is in none."""
    found = shutil.which(program)
    places = (os.environ.get(_ROOT), found and str(Path(found).resolve().parent.parent), _DEFAULT_ROOT)
    return next((Path(place) for place in places if place and (Path(place) / "bin" / program).is_file()), None)


def hip_architecture() -> str:
    """What to compile for: KERNELGAUGE_ARCHITECTURE if it names an AMD architecture, the GPU in use, or gfx942."""
    named = os.environ.get(ARCHITECTURE, "")
    return named if named.startswith("gfx") else next(iter(amd_architectures()), _DEFAULT_ARCHITECTURE)


def amd_architectures(nodes: Path = _NODES) -> list[str]:
    """Architectures of AMD's GPUs that the driver lists here, in its order."""
    found = []
    for path in sorted(nodes.glob("*/properties"), key=lambda path: int(path.parent.name)):
        facts = dict(line.split(maxsplit=1) for line in path.read_text().splitlines() if " " in line)
        version = int(facts.get("gfx_target_version", 0))
        if version:  # a CPU has 0; a stepping is written as one hexadecimal digit
            found.append(f"gfx{version // 10000}{version // 100 % 100:x}{version % 100:x}")
    return found


@contextmanager
def _as_with_rocm(home: Path) -> Iterator[None]:
    """While open, a PyTorch without ROCm writes the sources, the flags and ninja's file that one with it would."""
    from torch.utils import cpp_extension

    with patch.multiple(cpp_extension, IS_HIP_EXTENSION=True, ROCM_HOME=str(home), HIP_HOME=str(home / "hip")):
        yield

"""Backend `thunderkittens`: CUDA C++ with the tiles of ThunderKittens, built as PyTorch's extensions are."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from kernelgauge.backends.base import Route
from kernelgauge.backends.cache import BuildCache
from kernelgauge.backends.cuda import CudaBackend
from kernelgauge.kernels.toolkit import architecture

HEADER = "kittens.cuh"
_ROOT = "THUNDERKITTENS_ROOT"
# What ThunderKittens calls generations of GPUs; its headers want exactly one of these to be defined.
_GENERATIONS = {"8": "KITTENS_AMPERE", "9": "KITTENS_HOPPER", "10": "KITTENS_BLACKWELL", "12": "KITTENS_SM120"}
# PyTorch's headers, the library's and their templates: a guess from `cuda` extensions, not measured.
_GIGABYTES = 6.0


@dataclass(frozen=True)
class ThunderKittensBackend(CudaBackend):
    """The headers are no package: `THUNDERKITTENS_ROOT` names a checkout of the library."""

    name: str = "thunderkittens"
    title: str = "CUDA C++ with ThunderKittens"

    def cannot_build(self) -> str | None:
        if reason := super().cannot_build():
            return reason
        if not os.environ.get(_ROOT):
            return f"{_ROOT} is not set: it must name a checkout of ThunderKittens, whose include/ holds {HEADER}"
        if not (_include() / HEADER).is_file():
            return f"{_ROOT} is {os.environ[_ROOT]}, and there is no {_include() / HEADER}"
        if _generation() is None:
            return f"ThunderKittens has no form for compute capability {architecture()} (8.0 or newer)"
        return None

    def environment(self, device: str, scratch: Path) -> dict[str, str]:
        variables = super().environment(device, scratch)
        if self.cannot_build():
            return variables
        # nvcc reads these flags itself, after those of its caller: of two standards the last one counts.
        flags = f"-std=c++20 -D{_generation()} -I{_include()} -I{_prototype()}"
        more = "--expt-extended-lambda --expt-relaxed-constexpr -diag-suppress 3189"
        return variables | {_ROOT: str(_include().parent), "NVCC_APPEND_FLAGS": f"{flags} {more}"}

    def fingerprint(self) -> str:
        return f"{super().fingerprint()} {_digest(_include())} {_digest(_prototype())}"

    def libraries(self) -> tuple[Path, ...]:
        return (*super().libraries(), *((_include(), _prototype()) if os.environ.get(_ROOT) else ()))

    def routes(self, source: str, builds: BuildCache) -> tuple[Route, ...]:
        return (Route("full", _GIGABYTES),)  # slim headers are cut for C++17, and for PyTorch's alone


def _include() -> Path:
    return Path(os.environ.get(_ROOT, "/nonexistent")).absolute() / "include"


def _prototype() -> Path:
    return _include().parent / "prototype"


def _generation() -> str | None:
    return _GENERATIONS.get(architecture().partition(".")[0])


@cache
def _digest(folder: Path) -> str:
    """Digest of all headers in it, if it is there: a checkout has no version that could stand for them."""
    found = hashlib.sha256()
    for path in sorted(each for each in folder.rglob("*") if each.is_file()):
        found.update(f"{path.relative_to(folder)} {path.stat().st_size}\n".encode() + path.read_bytes())
    return found.hexdigest()[:16]

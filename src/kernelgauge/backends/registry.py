"""The backends by name, and which one a source text was written for."""

from __future__ import annotations

from functools import cache
from importlib import metadata

from kernelgauge.backends import detection
from kernelgauge.backends.base import Backend
from kernelgauge.errors import BackendMissing, UsageError
from kernelgauge.registry import made

_BUILT_IN = {
    "torch": "kernelgauge.backends.torch:TorchBackend",
    "cpp": "kernelgauge.backends.cpp:CppBackend",
    "triton": "kernelgauge.backends.triton:TritonBackend",
    "cuda": "kernelgauge.backends.cuda:CudaBackend",
    "gluon": "kernelgauge.backends.gluon:GluonBackend",
    "numba": "kernelgauge.backends.numba:NumbaBackend",
    "helion": "kernelgauge.backends.helion:HelionBackend",
    "cutile": "kernelgauge.backends.cutile:CuTileBackend",
    "warp": "kernelgauge.backends.warp:WarpBackend",
    "pallas": "kernelgauge.backends.pallas:PallasBackend",
    "tilelang": "kernelgauge.backends.tilelang:TileLangBackend",
    "cute": "kernelgauge.backends.cute:CuteBackend",
    "hip": "kernelgauge.backends.hip:HipBackend",
    "thunderkittens": "kernelgauge.backends.thunderkittens:ThunderKittensBackend",
}
_GROUP = "kernelgauge.backends"


def names() -> list[str]:
    """Short names of all backends: the built-in ones, then those other packages register."""
    return [*_BUILT_IN, *(entry.name for entry in metadata.entry_points(group=_GROUP))]


@cache
def backend_named(name: str) -> Backend:
    """The backend of that short name or `module:Class`; raises UsageError if there is none."""
    found = made(name, _BUILT_IN, _GROUP, "backend")
    if not isinstance(found, Backend):
        raise UsageError(f"{name} is not a backend: it does not derive from kernelgauge.backends.base.Backend")
    return found


@cache
def embedded() -> tuple[Backend, ...]:
    """The backends of languages that a module tells, such as Triton."""
    return tuple(backend for backend in map(backend_named, names()) if backend.module)


@cache
def others_kernels() -> str:
    """How the names of kernels begin that some language brings or makes by itself, as a pattern."""
    return "|".join(f"(?:{language.others_kernels})" for language in embedded() if language.others_kernels)


def detect(source: str) -> str:
    """The short name of the backend a source text was written for; `torch` if nothing says otherwise."""
    return detection.detect(source, {backend.module: backend.name for backend in embedded()})


def require_backend(problem: str, name: str, device: str) -> None:
    """Raises BackendMissing, about the problem of that key, where candidates in a language cannot be judged on a kind
    of device here: `cpu`, `cuda`."""
    reason = backend_named(name).missing(device)
    if reason is not None:
        raise BackendMissing(f"problem {problem}: {reason}")

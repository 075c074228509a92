"""NVIDIA's runtime compiler: CUDA C++ text to a cubin in this process, without nvcc and without a GPU.

By ctypes and not through cuda-bindings: six functions that have not changed in ten years, from a library that every
PyTorch with CUDA and every toolkit brings.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from kernelgauge.kernels.toolkit import cuda_home, wheel_folders

_SYSTEM_NAMES = ("libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so")


class CompileError(Exception):
    """The compiler refused a kernel; the text is what it printed."""


class CompilerMissing(Exception):
    """There is no runtime compiler here; says how to get one."""


@dataclass(frozen=True)
class Compiled:
    """A kernel's machine code, and the name its function has in it."""

    cubin: bytes
    function: str
    log: str


@cache
def _files() -> list[Path]:
    """Where the library may be, the toolkit's first: it fits the toolkit's headers."""
    home = cuda_home()
    folders = [*([home / "lib64"] if home else []), *(folder / "lib" for folder in wheel_folders())]
    return [path for folder in folders for path in sorted(folder.glob("libnvrtc.so*"), reverse=True)]


def identity() -> str:
    """Which library it will be, told without loading it: part of the name of a build."""
    return next((f"{path.resolve()} {path.stat().st_size}" for path in _files()), "the system's")


@cache
def _library() -> ctypes.CDLL:
    for path in _files():
        with suppress(OSError):
            for part in path.parent.glob("libnvrtc-builtins.so*"):  # which the wheel's does not find by itself
                ctypes.CDLL(str(part))
            return ctypes.CDLL(str(path))
    for name in _SYSTEM_NAMES:
        with suppress(OSError):
            return ctypes.CDLL(name)
    raise CompilerMissing("libnvrtc is not installed: pip install 'kernelgauge[cuda]', or install the CUDA toolkit")


@cache
def version() -> str:
    """Version of the runtime compiler, such as `13.0`. Raises CompilerMissing."""
    major, minor = ctypes.c_int(), ctypes.c_int()
    _library().nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    return f"{major.value}.{minor.value}"


@cache
def include_flags() -> tuple[str, ...]:
    """Where the toolkit's headers are: `cuda_fp16.h`, cooperative groups, CUB and libcu++ (below `cccl` since 13)."""
    home = cuda_home()
    roots = [home, *wheel_folders()] if home else wheel_folders()
    found = [root / "include" for root in roots if (root / "include" / "cuda_runtime.h").exists()]
    folders = [path for root in found[:1] for path in (root, root / "cccl") if path.is_dir()]
    return tuple(f"--include-path={path}" for path in folders)


def compiled(source: str, name: str, options: Sequence[str]) -> Compiled:
    """Compile one kernel to a cubin.

    Args:
        name: the `__global__` function, or an instance of a template (`softmax<float, 256>`).
        options: the compiler's, among them one `--gpu-architecture=sm_...`.

    Raises:
        CompileError: it refused; lines read `NAME.cu(3): error: ...`.
        CompilerMissing: there is none.
    """
    nvrtc = _library()
    program = ctypes.c_void_p()
    file = name.split("<")[0].split("::")[-1] + ".cu"
    _checked(nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), file.encode(), 0, None, None))
    try:
        _checked(nvrtc.nvrtcAddNameExpression(program, name.encode()))
        flags = [option.encode() for option in (*options, *include_flags())]
        status = nvrtc.nvrtcCompileProgram(program, len(flags), (ctypes.c_char_p * len(flags))(*flags))
        log = _bytes(program, "nvrtcGetProgramLogSize", "nvrtcGetProgramLog").rstrip(b"\0").decode(errors="replace")
        if status:
            raise CompileError(f"NVRTC refused kernel {name}:\n{log.strip() or _explained(status)}")
        lowered = ctypes.c_char_p()
        _checked(nvrtc.nvrtcGetLoweredName(program, name.encode(), ctypes.byref(lowered)))
        cubin = _bytes(program, "nvrtcGetCUBINSize", "nvrtcGetCUBIN")
        return Compiled(cubin, (lowered.value or b"").decode(), log)
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


def _bytes(program: ctypes.c_void_p, size_function: str, function: str) -> bytes:
    size = ctypes.c_size_t()
    _checked(getattr(_library(), size_function)(program, ctypes.byref(size)))
    buffer = ctypes.create_string_buffer(size.value)
    _checked(getattr(_library(), function)(program, buffer))
    return buffer.raw


def _explained(status: int) -> str:
    text = _library().nvrtcGetErrorString
    text.restype = ctypes.c_char_p
    return str((text(status) or b"unknown error").decode())


def _checked(status: int) -> None:
    if status:
        raise CompileError(f"NVRTC: {_explained(status)}")

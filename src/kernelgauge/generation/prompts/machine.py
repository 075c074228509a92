"""The machine that a candidate is written for, as a prompt describes it."""

from __future__ import annotations

import os
from pathlib import Path

from kernelgauge.errors import UsageError
from kernelgauge.hardware.environment import cpu_model, device_index, gpu
from kernelgauge.hardware.gpus import Gpu, gpu_here, gpu_named, names
from kernelgauge.schema import Record

_VECTORS = {"sse4_2": "SSE 4.2", "avx": "AVX", "avx2": "AVX2", "fma": "FMA", "avx512f": "AVX-512", "amx_tile": "AMX"}
_VECTORS |= {"asimd": "NEON", "sve": "SVE"}


class Cpu(Record):
    """The figures of this machine's processor."""

    name: str
    threads: int
    vectors: tuple[str, ...]
    caches: dict[str, str]
    """By name, such as `L2 cache of a core`, the size with its unit."""


def machine(device: str, gpu_name: str | None) -> Gpu | Cpu:
    """The GPU of that name; without one the GPU found here, or for `cpu` this machine's processor.

    Raises:
        UsageError: there is no data of the GPU, or none is found here, or a GPU is named and `device` is the CPU.
    """
    if gpu_name is not None:
        named = gpu_named(gpu_name)
        if device == "cpu":
            raise UsageError(f"{named.name} is a GPU, and candidates are to run on the CPU: leave one of the two out")
        return named
    if device == "cpu":
        return cpu_here()
    found = gpu()
    if found is None:
        raise UsageError(f"no GPU is found here: name the one to write for (there are {', '.join(names())})")
    return gpu_here(found[0], device_index(device))


def cpu_here() -> Cpu:
    """The processor of this machine; what the platform does not say is left out."""
    return Cpu(
        name=cpu_model(), threads=len(os.sched_getaffinity(0)), vectors=tuple(_vectors()), caches=dict(_caches())
    )


def _vectors() -> list[str]:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return []
    flags = next((line for line in lines if line.startswith(("flags", "Features"))), "").split()
    return [called for flag, called in _VECTORS.items() if flag in flags]


def _caches() -> list[tuple[str, str]]:
    found = []
    for folder in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        try:
            level, kind, size = ((folder / name).read_text().strip() for name in ("level", "type", "size"))
        except OSError:
            continue
        if kind != "Instruction":
            shared = "shared by cores" if level == "3" else "of a core"
            found.append((f"L{level} cache {shared}", size.replace("K", " KiB").replace("M", " MiB")))
    return found

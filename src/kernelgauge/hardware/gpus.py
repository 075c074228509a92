"""What a GPU has, for those who write kernels for it: from its data sheet (`gpus.json`), or else from its driver."""

from __future__ import annotations

import difflib
import json
from functools import cache
from importlib import resources
from typing import Any

from pydantic import Field

from kernelgauge.errors import UsageError
from kernelgauge.hardware.driver import attributes
from kernelgauge.schema import Record


class Gpu(Record):
    """The figures of one GPU. What is not known is None."""

    name: str
    source: str
    """Where the figures come from: a data sheet, or the driver."""
    architecture: str
    """Its name and compute capability, such as `Hopper (9.0)`."""
    memory: str
    """Size and kind, such as `80 GB HBM3`."""
    gbs: float | None = None
    """Memory bandwidth in GB/s (10^9 bytes)."""
    tflops: dict[str, float] = Field(default_factory=dict)
    """Dense rates in TFLOP/s by type: `fp64`, `fp32`, `tf32`, `fp16`, `bf16`."""
    l2_mib: float | None = None
    multiprocessors: int | None = None
    warp: int = 32
    """Threads that run in step."""
    shared_kib: int | None = None
    """Shared memory of one multiprocessor."""
    block_shared_kib: int | None = None
    """The most of it that one block may ask for."""
    threads: int | None = None
    """The most threads on one multiprocessor at once."""
    blocks: int | None = None
    """The most blocks on one multiprocessor at once."""


def names() -> list[str]:
    """What people call the GPUs with a data sheet here."""
    return [row["short"][0] for row in _data()["gpus"]]


def gpu_named(name: str) -> Gpu:
    """The GPU that is called so, by people or by its driver. Raises UsageError, with those there are."""
    wanted = name.strip().lower()
    for row in _data()["gpus"]:
        if wanted in (called.lower() for called in (*row["short"], *row["names"])):
            return _from_sheet(row)
    near = difflib.get_close_matches(name, names(), 1)
    hint = f"; did you mean {near[0]}?" if near else ""
    raise UsageError(f"no data of a GPU called {name[:60]!r}{hint} (there are {', '.join(names())})")


def gpu_here(name: str, index: int = 0) -> Gpu:
    """The GPU of this machine with that name of its driver's: by its data sheet, or by what the driver says.

    Raises UsageError if there is neither.
    """
    try:
        return gpu_named(name)
    except UsageError:
        found = attributes(index)
        if found is None:
            raise
        return _from_driver(name, found)


def _from_sheet(row: dict[str, Any]) -> Gpu:
    limits = dict(_data()["architectures"][row["architecture"]])
    return Gpu(
        name=row["names"][0],
        source=row["source"],
        architecture=f"{limits.pop('called')} ({row['architecture']})",
        **{field: row[field] for field in ("memory", "gbs", "tflops", "l2_mib", "multiprocessors")},
        **limits,
    )


def _from_driver(name: str, found: dict[str, int]) -> Gpu:
    capability = f"{found['major']}.{found['minor']}"
    known = _data()["architectures"].get(capability)
    # Kilohertz times bits, twice a clock.
    bandwidth = 2 * found["memory_clock_khz"] * found["bus_bits"] / 8 / 1e6
    return Gpu(
        name=name,
        source="its driver",
        architecture=f"{known['called']} ({capability})" if known else f"compute capability {capability}",
        memory=f"{found['memory'] / 1e9:.0f} GB",
        gbs=bandwidth or None,
        l2_mib=found["l2"] / 2**20,
        multiprocessors=found["multiprocessors"],
        warp=found["warp"],
        shared_kib=found["shared"] >> 10,
        block_shared_kib=found["block_shared"] >> 10,
        threads=found["threads"],
        blocks=found["blocks"],
    )


@cache
def _data() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(resources.files(__package__).joinpath("gpus.json").read_text())
    return found

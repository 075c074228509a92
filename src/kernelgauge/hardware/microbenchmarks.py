"""What one device can do, measured: `python -m kernelgauge.hardware.microbenchmarks cpu|cuda` prints `Peaks`.

A process of its own, so that the caller needs no CUDA. Every figure is the best of several calls, since disturbances
only ever slow a call down. Operands are uniform in [0, 1) as the suite's inputs are: power, and with it the clock of
a GPU, depends on them.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import torch

from kernelgauge.hardware.environment import cpu_model, memory_bytes
from kernelgauge.schema import Peaks, Precision

_REPEATS = 12
_BUDGET_SECONDS = 0.4
_LONG_ENOUGH_SECONDS = 0.1
_LARGEST_BUFFER = 2 << 30
_DTYPES: dict[Precision, torch.dtype] = {
    "fp64": torch.float64,
    "fp32": torch.float32,
    "tf32": torch.float32,
    "fp16": torch.float16,
    "bf16": torch.bfloat16,
}
# Nothing here can be larger: where a machine does not say how much cache it has, no byte is certain to leave it.
_UNKNOWN_CACHE = 2 << 30
# A shared CPU has been seen to measure less than half of what it did an hour earlier.
_CPU_CEILING, _UNKNOWN_CEILING = 5.0, 1.5
# CUdevice_attribute of the driver's API.
_MEMORY_CLOCK_KHZ, _BUS_WIDTH_BITS = 36, 37


def measure(device: torch.device) -> Peaks:
    """All peaks of a device; some seconds."""
    cuda = device.type == "cuda"
    cache_bytes = torch.cuda.get_device_properties(device).L2_cache_size if cuda else cpu_cache_bytes()
    buffer = _buffer_bytes(device, cache_bytes)
    copy, read = _bandwidths(device, buffer)
    ceiling, how = _ceiling(device, max(copy, read))
    return Peaks(
        created=datetime.now(UTC),
        device="cuda" if cuda else "cpu",
        name=torch.cuda.get_device_name(device) if cuda else cpu_model(),
        source="measured",
        read_gbs=read / 1e9,
        copy_gbs=copy / 1e9,
        ceiling_gbs=ceiling / 1e9,
        flops={name: _product_rate(device, name) for name in _precisions(device)},
        cache_bytes=cache_bytes,
        note=f"buffers of {buffer >> 20} MiB, best of up to {_REPEATS} calls; ceiling: {how}",
    )


def cpu_cache_bytes() -> int:
    """All second- and third-level caches of the machine together."""
    found: dict[tuple[str, ...], int] = {}
    for index in Path("/sys/devices/system/cpu").glob("cpu[0-9]*/cache/index[0-9]*"):
        try:
            level, kind, size, shared = (
                (index / name).read_text().strip() for name in ("level", "type", "size", "shared_cpu_list")
            )
        except OSError:
            continue
        if level != "1" and kind != "Instruction":
            found[level, kind, shared] = int(size.removesuffix("K")) << 10
    return sum(found.values()) or _UNKNOWN_CACHE


def _buffer_bytes(device: torch.device, cache_bytes: int) -> int:
    """Much larger than the cache, and small beside the memory there is."""
    if device.type == "cuda":
        return min(_LARGEST_BUFFER, torch.cuda.mem_get_info(device)[0] // 8)
    return min(max(256 << 20, 4 * cache_bytes), memory_bytes() // 8)


def _seconds(device: torch.device, call: Callable[[], object]) -> float:
    """The least time of several calls, after one to warm up; two are timed even where the budget is spent."""
    call()
    best, started, taken = float("inf"), time.monotonic(), 0
    while taken < 2 or (taken < _REPEATS and time.monotonic() - started < _BUDGET_SECONDS):
        best = min(best, _once(device, call))
        taken += 1
    return best


def _once(device: torch.device, call: Callable[[], object]) -> float:
    if device.type == "cuda":
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize(device)
        start.record()
        call()
        end.record()
        end.synchronize()
        return float(start.elapsed_time(end)) / 1e3
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def _bandwidths(device: torch.device, size: int) -> tuple[float, float]:
    """Bytes a second of a copy (read and written together) and of the best large reduction."""
    rows = torch.rand(size // 4 >> 12, 1 << 12, device=device)
    target = torch.empty_like(rows)
    copy = 2 * rows.nbytes / _seconds(device, lambda: target.copy_(rows))
    reductions: tuple[Callable[[], object], ...] = (rows.sum, rows.amax, lambda: rows.sum(1))
    return copy, rows.nbytes / min(_seconds(device, each) for each in reductions)


def _precisions(device: torch.device) -> list[Precision]:
    if device.type == "cpu":
        return ["fp64", "fp32", "bf16"]  # PyTorch has no fast float16 product there: a thousandth of fp32's rate
    ampere = torch.cuda.get_device_capability(device) >= (8, 0)
    return ["fp64", "fp32", "tf32", "fp16", "bf16"] if ampere else ["fp64", "fp32", "fp16"]


def _product_rate(device: torch.device, precision: Precision) -> float:
    """FLOP/s of the best square matrix product, sizes doubled until one takes a tenth of a second."""
    best, size = 0.0, 1024 if device.type == "cpu" else 2048
    with _tf32(precision == "tf32"):
        while size <= 1 << 14:
            a, b = (torch.rand(size, size, device=device).to(_DTYPES[precision]) for _ in range(2))
            out = torch.empty_like(a)
            seconds = _seconds(device, lambda a=a, b=b, out=out: torch.mm(a, b, out=out))  # type: ignore[misc]
            best = max(best, 2 * size**3 / seconds)
            if seconds > _LONG_ENOUGH_SECONDS:
                break
            size *= 2
    return best


@contextmanager
def _tf32(allowed: bool) -> Iterator[None]:
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = allowed
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


def _ceiling(device: torch.device, measured: float) -> tuple[float, str]:
    """Bytes a second that no kernel exceeds, and how that is known.

    On a GPU the memory clock, twice a period, times the width of the bus (as NVIDIA's deviceQuery prints it).
    """
    if device.type == "cpu":
        return _CPU_CEILING * measured, f"{_CPU_CEILING:g} times the best measured"
    pins = 2.0 * _attribute(device, _MEMORY_CLOCK_KHZ) * 1e3 * _attribute(device, _BUS_WIDTH_BITS) / 8
    if pins >= measured:
        return pins, "clock and width of the memory bus"
    return _UNKNOWN_CEILING * measured, f"{_UNKNOWN_CEILING:g} times the best measured"


def _attribute(device: torch.device, number: int) -> int:
    """An attribute of the GPU from the driver; 0 where it does not say."""
    value, handle = ctypes.c_int(0), ctypes.c_int(0)
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0
    if driver.cuDeviceGet(ctypes.byref(handle), device.index or 0) != 0:
        return 0
    if driver.cuDeviceGetAttribute(ctypes.byref(value), number, handle) != 0:
        return 0
    return value.value


def main() -> None:
    """Measure the device named by the first argument and print the record as one line of JSON."""
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", len(os.sched_getaffinity(0)))))
    with torch.no_grad():
        print(measure(torch.device(sys.argv[1])).model_dump_json())


if __name__ == "__main__":
    main()

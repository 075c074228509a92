"""What a GPU's second-level cache keeps for a process that asks it to, while another process writes over it.

    python benchmarks/persisting_cache.py [--megabytes 24] [--calls 200]

A process sums up a tensor that fits the cache; between two sums another process flushes the cache, as the parent does
before each timed call. Prints microseconds of a sum (median; the process's own events) as JSON: `warm` without that
flush, `cold` with it. Then the process asks for the lines of the tensor to persist: `kept_warm` and `kept` are the
same again; before `reset` the other process gives up persisting lines (`cuCtxResetPersistingL2Cache`), before
`reset_here` the process itself.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import multiprocessing
import statistics
from multiprocessing.connection import Connection

import torch

from kernelgauge.timing.cache_flush import CacheFlush

_LIMIT = 0x06
_ACCESS_POLICY_WINDOW = 1
_PERSISTING, _STREAMING = 2, 1
_BUSY_CYCLES = 400_000


class _Window(ctypes.Structure):
    _fields_ = [
        ("base", ctypes.c_uint64),
        ("bytes", ctypes.c_size_t),
        ("share", ctypes.c_float),
        ("hit", ctypes.c_int),
        ("miss", ctypes.c_int),
    ]


class _Attribute(ctypes.Union):
    _fields_ = [("pad", ctypes.c_char * 64), ("window", _Window)]


def _driver() -> ctypes.CDLL:
    return ctypes.CDLL("libcuda.so.1")


def _persist(tensor: torch.Tensor, stream: torch.cuda.Stream) -> None:
    size = tensor.numel() * tensor.element_size()
    window = _Attribute(window=_Window(tensor.data_ptr(), size, 1.0, _PERSISTING, _STREAMING))
    refused = _driver().cuCtxSetLimit(_LIMIT, ctypes.c_size_t(size))
    refused |= _driver().cuStreamSetAttribute(
        ctypes.c_void_p(stream.cuda_stream), _ACCESS_POLICY_WINDOW, ctypes.byref(window)
    )
    if refused:
        raise SystemExit(f"no lines persist here: error {refused}")


def reader(channel: Connection, size: int) -> None:
    """Sum when told to; on `persist` ask for that first, on `reset` give it up before each sum."""
    tensor = torch.ones(size // 4, device="cuda")
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        while order := channel.recv():
            if order == "persist":
                _persist(tensor, stream)
            if order == "reset":
                _driver().cuCtxResetPersistingL2Cache()
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            torch.cuda._sleep(_BUSY_CYCLES)  # launches and a waking clock are no part of it
            begin.record()
            tensor.sum()
            end.record()
            end.synchronize()
            channel.send(begin.elapsed_time(end) * 1e3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=24)
    parser.add_argument("--calls", type=int, default=200)
    options = parser.parse_args()
    channel, theirs = multiprocessing.Pipe()
    context = multiprocessing.get_context("spawn")
    process = context.Process(target=reader, args=(theirs, options.megabytes * 2**20), daemon=True)
    process.start()
    flush = CacheFlush("cuda")

    def asked(order: str) -> float:
        torch.cuda.synchronize()
        channel.send(order)
        return float(channel.recv())

    def median(order: str, flushed: bool = True, reset: bool = False) -> float:
        taken = []
        for _ in range(options.calls):
            if reset:
                _driver().cuCtxResetPersistingL2Cache()
            if flushed:
                flush()
            taken.append(asked(order))
        return round(statistics.median(taken[options.calls // 4 :]), 2)

    found = {"warm": median("sum", flushed=False), "cold": median("sum")}
    asked("persist")  # once: to set the limit may give up what persists
    found |= {"kept_warm": median("sum", flushed=False), "kept": median("sum")}
    found |= {"reset": median("sum", reset=True), "reset_here": median("reset")}
    channel.send(None)
    process.join()
    gpu = torch.cuda.get_device_name()
    print(json.dumps({"gpu": gpu, "torch": torch.__version__, "megabytes": options.megabytes, "us": found}))


if __name__ == "__main__":
    main()

"""Timers: how one process measures its own calls. Short names are those of KernelBench's `timing_method`.

A timer runs inside a worker, so what it says is a claim; the parent holds it against a clock of its own. `call` times
one call by itself, as the interleaved protocol needs it; `samples` is the published loop over one set of inputs.
Entry points `kernelgauge.timers` add more.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch

from kernelgauge.config import Protocol
from kernelgauge.errors import UsageError
from kernelgauge.registry import made
from kernelgauge.timing.cache_flush import CacheFlush

Forward = Callable[[], Any]

_BUILT_IN = {
    "host_time": "kernelgauge.timing.timers:HostTime",
    "cuda_event": "kernelgauge.timing.timers:CudaEvent",
    "cuda_graph": "kernelgauge.timing.timers:CudaGraph",
    "queued_event": "kernelgauge.timing.timers:QueuedEvent",
    "do_bench": "kernelgauge.timing.bench_timers:DoBench",
    "do_bench_impl": "kernelgauge.timing.bench_timers:DoBenchImpl",
    "cupti": "kernelgauge.timing.bench_timers:Cupti",
}


class Timer:
    """One way to time calls; subclasses implement `call`, or only `samples`."""

    devices: tuple[str, ...] = ("cuda",)
    times_single_calls: bool = True
    """Whether `call` works: else the timer needs many calls on one set of inputs."""
    counts_launches: bool = True
    """Whether a single call's time holds the launches of its kernels."""
    reuses_outputs: bool = False
    """Whether what `call` returns lies where the call before left it, whoever computed it."""

    def call(self, forward: Forward) -> Any:
        """Run `forward` once, timed, and return its result; `elapsed_ns` tells the time afterwards."""
        raise NotImplementedError

    def elapsed_ns(self) -> int:
        """Time of the last `call` in nanoseconds; the device must have been waited for since."""
        raise NotImplementedError

    def samples(self, forward: Forward, warmups: int, count: int) -> list[float]:
        """Milliseconds of `count` calls after `warmups` untimed ones, the last-level cache flushed before each."""
        flush = CacheFlush(_current_device())
        for _ in range(warmups):
            self.call(forward)
        taken = []
        for _ in range(count):
            flush()
            _synchronise()
            self.call(forward)
            _synchronise()
            taken.append(self.elapsed_ns() / 1e6)
        return taken


class HostTime(Timer):
    """The process's monotonic clock, from an idle device until the device is idle again."""

    devices = ("cpu", "cuda")

    def call(self, forward: Forward) -> Any:
        started = time.perf_counter_ns()
        result = forward()
        _synchronise()
        self._elapsed = time.perf_counter_ns() - started
        return result

    def elapsed_ns(self) -> int:
        return self._elapsed


class CudaEvent(Timer):
    """A pair of events around the call on the current stream: launch gaps count, other streams do not."""

    def call(self, forward: Forward) -> Any:
        self._start, self._end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        self._start.record()
        result = forward()
        self._end.record()
        return result

    def elapsed_ns(self) -> int:
        milliseconds: float = self._start.elapsed_time(self._end)
        return round(milliseconds * 1e6)


class CudaGraph(CudaEvent):
    """The replay of a graph captured once: kernels back to back, without their launches.

    The graph reads its inputs where they lay when it was captured, so every call must find its own there.
    """

    counts_launches = False
    reuses_outputs = True

    def __init__(self) -> None:
        self._graph: torch.cuda.CUDAGraph | None = None
        self._result: Any = None

    def call(self, forward: Forward) -> Any:
        if self._graph is None:
            self._capture(forward)
        assert self._graph is not None
        super().call(self._graph.replay)
        return self._result

    def _capture(self, forward: Forward) -> None:
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):  # lazily made handles and workspaces must not be captured
                forward()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self._result = forward()
        self._graph = graph


class QueuedEvent(CudaEvent):
    """Events around a call whose kernels wait in the queue before the first one starts: device time without launches.

    A call that waits for the device itself, or that launches more than the queue holds, is timed with the gaps that
    it causes.
    """

    counts_launches = False
    _QUEUE_FACTOR = 3.0
    _CYCLES_PER_SECOND = 2e9
    """Above the clock of any GPU of today, so that the head start is never too short for that reason."""

    def __init__(self) -> None:
        self._launch_seconds = 0.0

    def call(self, forward: Forward) -> Any:
        if not self._launch_seconds:
            started = time.perf_counter()
            forward()
            self._launch_seconds = time.perf_counter() - started
            _synchronise()
        head_start = max(self._launch_seconds * self._QUEUE_FACTOR, 1e-4)
        torch.cuda._sleep(int(min(head_start, 1.0) * self._CYCLES_PER_SECOND))
        return super().call(forward)


def _current_device() -> str:
    return f"cuda:{torch.cuda.current_device()}" if torch.cuda.is_initialized() else "cpu"


def _synchronise() -> None:
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()


def timer_named(name: str) -> Timer:
    """A new timer of that short name or `module:Class`; raises UsageError if there is none."""
    found: Timer = made(name, _BUILT_IN, "kernelgauge.timers", "timer")
    return found


def timer_names() -> list[str]:
    """Short names of the built-in timers."""
    return list(_BUILT_IN)


def check_timer(name: str, device: str, protocol: Protocol) -> None:
    """Raises UsageError if there is no such timer, or it does not fit the device or the protocol."""
    timer, kind = timer_named(name), device.partition(":")[0]
    if kind not in timer.devices:
        fitting = [each for each in timer_names() if kind in timer_named(each).devices]
        raise UsageError(f"timer {name!r} does not work on {kind} (there: {', '.join(fitting)})")
    if protocol.timing_on(device).interleaved and not timer.times_single_calls:
        raise UsageError(
            f"timer {name!r} needs many calls on one set of inputs, and protocol {protocol.name} draws new ones for "
            "each: use --protocol v0.1"
        )

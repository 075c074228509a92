"""Timers that need many calls on one set of inputs: Triton's benchmark loop, with and without its own choice of
counts, and the sum of kernel times that CUPTI reports."""

from __future__ import annotations

import torch

from kernelgauge.timing.cache_flush import CacheFlush, leave_room
from kernelgauge.timing.timers import Forward, Timer

# What `do_bench` writes over between calls.
_BENCH_BYTES = 256 * 2**20


class DoBench(Timer):
    """`triton.testing.do_bench` as it is: 25 ms of warm-up, 100 ms of calls, whatever counts were asked for."""

    times_single_calls = False

    def samples(self, forward: Forward, warmups: int, count: int) -> list[float]:
        from triton.testing import do_bench

        leave_room(f"cuda:{torch.cuda.current_device()}", _BENCH_BYTES)
        taken = list(do_bench(forward, return_mode="all"))
        # Of a slow call it takes one sample, which says nothing of the scatter.
        return taken if len(taken) > 1 else taken + list(do_bench(forward, return_mode="all"))


class DoBenchImpl(Timer):
    """Triton's loop with fixed counts: all calls queued, each behind a flush, and one wait at the end."""

    times_single_calls = False

    def samples(self, forward: Forward, warmups: int, count: int) -> list[float]:
        flush = CacheFlush(f"cuda:{torch.cuda.current_device()}")
        for _ in range(warmups):
            forward()
        pairs = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(count)]
        for start, end in pairs:
            flush()
            start.record()
            forward()
            end.record()
        torch.cuda.synchronize()
        return [start.elapsed_time(end) for start, end in pairs]


class Cupti(Timer):
    """Sum of the durations of a call's kernels and copies, as CUPTI reports them to PyTorch's profiler."""

    times_single_calls = False

    def samples(self, forward: Forward, warmups: int, count: int) -> list[float]:
        from torch.profiler import ProfilerActivity, profile, supported_activities

        if ProfilerActivity.CUDA not in supported_activities():
            raise RuntimeError("this PyTorch has no CUPTI: choose another timer")
        flush = CacheFlush(f"cuda:{torch.cuda.current_device()}")
        for _ in range(warmups):
            forward()
        taken = []
        for _ in range(count):
            flush()
            torch.cuda.synchronize()
            with profile(activities=[ProfilerActivity.CUDA]) as profiler:
                forward()
                torch.cuda.synchronize()
            taken.append(sum(event.device_time_total for event in profiler.events()) / 1e3)
        return taken

"""Where the time of a forward goes, by `torch.profiler`; runs in the worker, so its figures are the candidate's word.

Wall time is taken without the profiler, which slows the host down; times on the GPU it leaves as they are.
Imported only when asked for: starting `torch.profiler` brings Inductor and Triton.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from types import BuiltinFunctionType, FrameType
from typing import Any

import torch
from torch.profiler import ProfilerActivity, record_function

from kernelgauge.profiling.kernel_names import base_name, short_name

Forward = Callable[[], object]
Rows = dict[str, tuple[float, float]]
"""Calls and microseconds per forward, by name."""

OUTSIDE = "(Python, and code that is no operator)"
"""The row for time in forward itself, outside every operator."""

_BURSTS = 3
_BURST_SECONDS = 0.3
_MOST_IN_A_BURST = 50
_MOST_TRACED = 10
_MOST_ROWS = 30
_LONGEST_NAME = 200
_MEMORY = "[memory]"
# Entries of the GPU's timeline that are no work.
_WAITS = ("Context Sync", "Stream Sync", "Event Sync", "Stream Wait Event")
_NOT_FOREIGN = sys.stdlib_module_names | {"torch", "numpy"}


def profiled(forward: Forward, device: torch.device, names: Mapping[str, Any] | None) -> dict[str, Any]:
    """Rows and totals per forward, times in microseconds, memory in bytes.

    Args:
        forward: one call on staged inputs; called five times, or where it is short up to 170 times.
        names: the candidate's module; then compiled functions that it calls are rows of their own on a CPU, by their
            name there. None where it compiles nothing: looking costs time in every call.
    """
    forward()
    synchronise(device)
    wall_us, burst = _wall(forward, device)
    calls = min(burst, _MOST_TRACED)
    found: dict[str, Any] = {"wall_us": wall_us, "forwards": calls, "peak_bytes": 0}
    if device.type == "cuda":
        found["peak_bytes"] = _peak_on_gpu(forward, device)
    names = names if device.type == "cpu" else None
    _trace(forward, device, 1, names)  # the first trace in a process is slow, on a GPU because CUPTI has to start
    trace = _trace(forward, device, calls, names)
    if device.type == "cpu":
        found["peak_bytes"] = _peak_on_cpu(trace)
    kernels = _device_events(trace)
    if kernels:
        found |= {"rows_are": "kernels", "busy_us": _busy_us(kernels) / calls}
        found["launches"] = sum(not event.name.startswith(("Memcpy", "Memset")) for event in kernels) / calls
        return found | _largest(_kernel_rows(kernels, calls))
    rows, called = _operator_rows(trace)
    return found | {"rows_are": "operators", "busy_us": None, "launches": called} | _largest(rows)


def launched(forward: Forward, device: torch.device) -> Rows:
    """Calls and microseconds of the kernels of one forward, by their full names; copies and fills are none."""
    _trace(forward, device, 1, None)  # the first trace in a process may miss some, because CUPTI has to start
    rows = _kernel_rows(_device_events(_trace(forward, device, 1, None)), 1)
    return {name: row for name, row in rows.items() if not name.startswith(("Memcpy", "Memset"))}


def one_for_ncu(forward: Forward, device: torch.device) -> None:
    """A forward between the marks that `ncu --profile-from-start off` waits for, after two without."""
    for _ in range(2):
        forward()
    synchronise(device)
    if device.type == "cuda":
        torch.cuda.profiler.start()
    forward()
    synchronise(device)
    if device.type == "cuda":
        torch.cuda.profiler.stop()


def synchronise(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _wall(forward: Forward, device: torch.device) -> tuple[float, int]:
    """Microseconds of a forward, back to back with others, and how many make a burst."""

    def burst(calls: int) -> float:
        started = time.perf_counter()
        for _ in range(calls):
            forward()
        synchronise(device)
        return (time.perf_counter() - started) / calls

    once = burst(1)
    if once < _BURST_SECONDS:
        once = min(once, burst(1), burst(1))  # one call may be slow by chance, and would make the burst too short
    calls = max(1, min(_MOST_IN_A_BURST, int(_BURST_SECONDS / once)))
    return (statistics.median(burst(calls) for _ in range(_BURSTS)) if calls > 1 else once) * 1e6, calls


def _peak_on_gpu(forward: Forward, device: torch.device) -> int:
    torch.cuda.reset_peak_memory_stats(device)
    before = torch.cuda.memory_allocated(device)
    forward()
    return max(0, torch.cuda.max_memory_allocated(device) - before)


def _peak_on_cpu(trace: Any) -> int:
    level = peak = 0
    for event in sorted(trace.profiler.kineto_results.events(), key=lambda event: event.start_ns()):
        if event.name() == _MEMORY:
            level += event.nbytes()
            peak = max(peak, level)
    return peak


def _trace(forward: Forward, device: torch.device, calls: int, names: Mapping[str, Any] | None) -> Any:
    activities = [ProfilerActivity.CPU] + [ProfilerActivity.CUDA] * (device.type == "cuda")
    with torch.profiler.profile(activities=activities, profile_memory=device.type == "cpu") as trace:
        for _ in range(calls):
            with record_function(OUTSIDE), nullcontext() if names is None else _named_calls(names):
                forward()
        synchronise(device)
    return trace


@contextmanager
def _named_calls(names: Mapping[str, Any]) -> Iterator[None]:
    """While open, calls of compiled functions that are neither PyTorch's nor the standard library's are recorded."""
    known = {id(value): name for name, value in names.items() if isinstance(value, BuiltinFunctionType)}
    running: list[record_function] = []

    def watch(frame: FrameType, event: str, function: Any) -> None:
        if event[:2] != "c_" or not isinstance(function, BuiltinFunctionType):
            return
        module = getattr(function, "__module__", None) or ""
        if not module or module.partition(".")[0] in _NOT_FOREIGN:
            return
        if event == "c_call":
            name = known.get(id(function)) or f"{module}.{function.__name__}"
            running.append(record_function(name))
            running[-1].__enter__()
        elif running:
            running.pop().__exit__(None, None, None)

    sys.setprofile(watch)
    try:
        yield
    finally:
        sys.setprofile(None)


def _device_events(trace: Any) -> list[Any]:
    """Kernels, copies and fills on the GPU's own timeline."""
    return [
        event
        for event in trace.events()
        if event.device_type.name == "CUDA" and not event.is_user_annotation and event.name not in _WAITS
    ]


def _busy_us(events: list[Any]) -> float:
    """Length of the union of the events' times: kernels on several streams may overlap."""
    busy, reached = 0.0, float("-inf")
    for start, end in sorted((event.time_range.start, event.time_range.end) for event in events):
        busy += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return busy


def _kernel_rows(events: list[Any], calls: int) -> Rows:
    """Means over the forwards: on the GPU's timeline one cannot be told from the next."""
    rows: Rows = {}
    for event in events:
        count, total = rows.get(event.name, (0.0, 0.0))
        rows[event.name] = (count + 1 / calls, total + event.time_range.elapsed_us() / calls)
    return rows


def _operator_rows(trace: Any) -> tuple[Rows, int]:
    """Rows of the forward with the median time, and how many operators it called itself."""
    events = [event for event in trace.events() if event.name != _MEMORY]
    forwards = sorted((e for e in events if e.name == OUTSIDE), key=lambda event: event.time_range.elapsed_us())
    median = forwards[len(forwards) // 2]
    rows: Rows = {}
    for event in events:
        if median.time_range.start <= event.time_range.start <= median.time_range.end:
            count, total = rows.get(event.name, (0.0, 0.0))
            rows[event.name] = (count + 1, total + event.self_cpu_time_total)
    return rows, sum(event.cpu_parent is median for event in events)


def _largest(rows: Rows) -> dict[str, Any]:
    """The rows that took most time, instances of one template together, and what the others come to.

    A message has a largest size: short names, and not all rows.
    """
    merged: dict[str, dict[str, Any]] = {}
    for full, (calls, time_us) in rows.items():
        name, function = short_name(full), base_name(full)[:_LONGEST_NAME]
        row = merged.setdefault(name, {"name": name, "function": function, "calls": 0.0, "time_us": 0.0})
        row["calls"] += calls
        row["time_us"] += time_us
    ordered = sorted(merged.values(), key=lambda row: -row["time_us"])
    others = ordered[_MOST_ROWS:]
    return {
        "rows": ordered[:_MOST_ROWS],
        "others": len(others),
        "other_calls": sum(row["calls"] for row in others),
        "other_us": sum(row["time_us"] for row in others),
    }

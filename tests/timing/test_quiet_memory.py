"""Nobody is timed while the driver wipes memory that another process has given back."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

import pytest
import torch

from kernelgauge.timing import quiet_memory
from kernelgauge.timing.quiet_memory import QuietMemory

FREES_OR_NOT = """
import sys, torch
for order in sys.stdin:
    if order == "free\\n":
        taken = torch.ones(8 << 30, dtype=torch.uint8, device="cuda")
        torch.cuda.synchronize()
        del taken
        torch.cuda.empty_cache()
    print("done", flush=True)
"""


def after(times: list[float], monkeypatch: pytest.MonkeyPatch) -> QuietMemory:
    """One whose flushes take so long, the last for ever."""
    remaining = iter(times)
    last = times[-1]
    monkeypatch.setattr(QuietMemory, "_taken_ms", lambda self: next(remaining, last))
    made = QuietMemory("cpu")
    made._on_gpu = True
    return made


def test_a_call_waits_until_the_flush_takes_as_long_as_usual(monkeypatch: pytest.MonkeyPatch) -> None:
    quiet = after([1.0, 1.02, 1.2, 1.15, 1.03], monkeypatch)
    quiet()
    quiet()
    assert quiet.waits == 0
    quiet()
    assert quiet.waits == 2


def test_a_device_that_stays_slower_has_another_clock_and_is_waited_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quiet_memory, "_PATIENCE_SECONDS", 0.02)
    quiet = after([1.0, 1.5], monkeypatch)
    quiet()
    quiet()
    waited = quiet.waits
    assert waited > 1
    quiet()
    assert quiet.waits == waited


@pytest.mark.gpu
def test_what_another_process_has_given_back_slows_no_call() -> None:
    values = torch.zeros(1 << 28, device="cuda")
    quiet = QuietMemory("cuda")
    taken: dict[tuple[str, bool], list[float]] = {}
    with subprocess.Popen(
        [sys.executable, "-c", FREES_OR_NOT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdin is not None and other.stdout is not None
        for turn in range(44):
            order, waits = ("free", "wait")[turn % 2], bool(turn // 2 % 2)
            other.stdin.write(f"{order}\n")
            other.stdin.flush()
            assert other.stdout.readline() == "done\n"
            if waits:
                quiet()
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            start.record()
            values.add_(1)
            end.record()
            end.synchronize()
            if turn >= 4:  # the first of each kind start devices and clocks
                taken.setdefault((order, waits), []).append(float(start.elapsed_time(end)))
            time.sleep(0.05)
    typical = {kind: statistics.median(times) for kind, times in taken.items()}
    lost = typical["free", False] / typical["wait", False]
    if lost <= 1.08:
        pytest.skip(f"this device wipes nothing that slows a call, so there is nothing to wait for: {typical}")
    assert typical["free", True] < (1 + (lost - 1) / 4) * typical["wait", True], typical
    assert quiet.waits >= 5

"""Nobody is timed while the driver wipes memory that another process has given back."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest
import torch

from kernelgauge.timing import quiet_memory
from kernelgauge.timing.quiet_memory import QuietMemory

GIVES_BACK = """
import sys, time, torch
for _ in range(6):
    taken = torch.ones(8 << 30, dtype=torch.uint8, device="cuda")
    torch.cuda.synchronize()
    del taken
    torch.cuda.empty_cache()
    print("gone", flush=True)
    sys.stdin.readline()
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

    def taken_ms() -> float:
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        values.add_(1)
        end.record()
        end.synchronize()
        return float(start.elapsed_time(end))

    for _ in range(10):
        quiet()
        taken_ms()
    usual = min(taken_ms() for _ in range(20))
    line = [sys.executable, "-c", GIVES_BACK]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdin is not None and other.stdout is not None
        at_once, waited = [], []
        for turn in range(6):
            assert other.stdout.readline() == "gone\n"
            if turn % 2:
                quiet()
            (waited if turn % 2 else at_once).append(taken_ms())
            time.sleep(0.1)
            other.stdin.write("\n")
            other.stdin.flush()
    assert min(at_once) > 1.08 * usual, "this device wipes nothing: QuietMemory is of no use on it"
    assert max(waited) < 1.05 * usual, (usual, waited)
    assert quiet.waits >= 3

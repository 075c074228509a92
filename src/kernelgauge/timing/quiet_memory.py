"""A device whose memory is used by nobody else: what a process has given back, the driver wipes afterwards.

An H100 wipes 400 GB/s, and a kernel that reads and writes memory takes 16 % longer meanwhile. Inputs are drawn just
before a pair of calls, and what that took is given back: without a wait, the first call of each pair would pay for
it. So would the reference for what a candidate gives back at the end of its call.
"""

from __future__ import annotations

import time

import torch

from kernelgauge.timing.cache_flush import CacheFlush

# Flushes in one measurement: a gigabyte written, or 0.4 ms.
_FLUSHES = 4
# A device that is being wiped takes so many times as long, and more.
_SLOWER = 1.06
# All of 140 GB is wiped by then; a device that is still slow has another clock now.
_PATIENCE_SECONDS = 0.4
_REST_SECONDS = 0.001


class QuietMemory:
    """Flushes a device's last-level cache, again and again until that takes as long as usual.

    What is usual is learnt on the way. On a CPU it does nothing.
    """

    def __init__(self, device: str):
        self._flush = CacheFlush(device)
        self._on_gpu = device != "cpu"
        self._usual_ms = float("inf")
        self.waits = 0
        """How often a call had to wait."""

    def __call__(self) -> None:
        """Return when the device has done what the parent asked of it, its cache is cold and its memory quiet."""
        if not self._on_gpu:
            return
        deadline = time.monotonic() + _PATIENCE_SECONDS
        least = taken = self._taken_ms()
        while taken > _SLOWER * min(self._usual_ms, least) and time.monotonic() < deadline:
            self.waits += 1
            time.sleep(_REST_SECONDS)
            taken = self._taken_ms()
            least = min(least, taken)
        self._usual_ms = least if taken > _SLOWER * self._usual_ms else min(self._usual_ms, least)

    def _taken_ms(self) -> float:
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        for _ in range(_FLUSHES):
            self._flush()
        end.record()
        end.synchronize()
        return float(start.elapsed_time(end))

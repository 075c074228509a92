"""How much of a stretch of time GPUs were computing, sampled from NVML (nvidia-ml-py) in a thread."""

from __future__ import annotations

import statistics
import threading
import time
from itertools import pairwise
from types import TracebackType
from typing import Self

from kernelgauge.hardware.environment import gpu_count, host_index

_PERIOD_SECONDS = 0.2


class GpuBusy:
    """Samples the utilisation of every visible GPU while open.

    NVML's figure is the share of its own last sample period (up to a second) in which any kernel ran, so a value of 1
    does not mean that the GPU was full.
    """

    def __init__(self) -> None:
        self._samples: list[tuple[float, list[float]]] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self.missing = ""
        """Why there is no share; empty where there is one."""

    @property
    def share(self) -> float | None:
        """Mean over all of them, from 0 to 1; None without a GPU or NVML."""
        return round(statistics.mean(self.shares), 3) if self.shares else None

    @property
    def shares(self) -> list[float]:
        """Of each GPU, from 0 to 1."""
        return [round(statistics.mean(each), 3) for each in zip(*(row for _, row in self._samples), strict=True)]

    @property
    def longest_idle_seconds(self) -> list[float]:
        """Of each GPU: the longest time without a kernel between the first one that ran there and the last."""
        return [
            round(longest_gap([at for at, row in self._samples if row[n] > 0]), 1) for n in range(len(self.shares))
        ]

    def _sample(self) -> None:
        try:
            import pynvml

            pynvml.nvmlInit()
            numbers = [host_index(f"cuda:{n}") for n in range(gpu_count())]
            handles = [pynvml.nvmlDeviceGetHandleByIndex(number) for number in numbers]
            while handles and not self._stop.wait(_PERIOD_SECONDS):
                used = [pynvml.nvmlDeviceGetUtilizationRates(handle).gpu / 100 for handle in handles]
                self._samples.append((time.monotonic(), used))
        except Exception as error:  # no package, no driver, no device, not supported: a figure less, not a failure
            self.missing = f"{type(error).__name__}: {error}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join(5)


def longest_gap(times: list[float]) -> float:
    """The longest step between times in order; 0 with fewer than two."""
    return max((after - before for before, after in pairwise(times)), default=0.0)

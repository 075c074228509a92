"""How much of a stretch of time the GPU was computing, sampled from NVML (nvidia-ml-py) in a thread."""

from __future__ import annotations

import statistics
import threading
from types import TracebackType
from typing import Self

_PERIOD_SECONDS = 0.2


class GpuBusy:
    """Samples the first GPU's utilisation while open; `share` is its mean from 0 to 1, None without a GPU or NVML.

    NVML's figure is the share of its own last sample period (up to a second) in which any kernel ran, so a value of 1
    does not mean that the GPU was full.
    """

    def __init__(self) -> None:
        self._samples: list[float] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self.missing = ""
        """Why there is no share; empty where there is one."""

    @property
    def share(self) -> float | None:
        return round(statistics.mean(self._samples), 3) if self._samples else None

    def _sample(self) -> None:
        try:
            import pynvml

            pynvml.nvmlInit()
            handle = pynvml.nvmlDeviceGetHandleByIndex(0)
            while not self._stop.wait(_PERIOD_SECONDS):
                self._samples.append(pynvml.nvmlDeviceGetUtilizationRates(handle).gpu / 100)
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

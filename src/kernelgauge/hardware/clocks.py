"""What the driver says of a GPU while calls are timed: clocks, power, temperature, and whether it is slowed down."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import Any

import torch

from kernelgauge.schema import GpuState

# Bits of NVML's clocks event reasons (nvml.h, nvmlClocksEventReasons).
_POWER_CAP = 0x4
_SLOWED_DOWN = 0x8 | 0x20 | 0x40 | 0x80  # hardware slowdown, software and hardware thermal, power brake


@dataclass(frozen=True)
class Reading:
    """One look at the GPU."""

    sm_mhz: int
    memory_mhz: int
    power_watts: float
    temperature: int
    reasons: int

    @property
    def slowed_down(self) -> bool:
        """Whether heat or the power supply holds the clock down: a time taken now says nothing."""
        return bool(self.reasons & _SLOWED_DOWN)

    @property
    def power_capped(self) -> bool:
        return bool(self.reasons & _POWER_CAP)


class GpuClocks:
    """Reads one GPU through NVML; `available` is False where NVML or its Python package is missing."""

    def __init__(self, device: str):
        self._nvml: Any = None
        try:
            import pynvml

            pynvml.nvmlInit()
            uuid = torch.cuda.get_device_properties(device).uuid
            self._handle = pynvml.nvmlDeviceGetHandleByUUID(f"GPU-{uuid}")
            self._nvml = pynvml
            self._read()
        except Exception:  # boundary: a missing package, library or permission each raise something of their own
            self._nvml = None

    @property
    def available(self) -> bool:
        return self._nvml is not None

    def read(self) -> Reading | None:
        """The state right now, in some tenths of a millisecond; None where the driver does not tell."""
        try:
            return self._read()
        except self._nvml.NVMLError:
            return None

    def _read(self) -> Reading:
        nvml, handle = self._nvml, self._handle
        return Reading(
            sm_mhz=nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM),
            memory_mhz=nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_MEM),
            power_watts=nvml.nvmlDeviceGetPowerUsage(handle) / 1e3,
            temperature=nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU),
            reasons=nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle),
        )


def summary(readings: list[Reading]) -> GpuState | None:
    """What a record keeps of the readings beside its pairs; None where there are none."""
    if not readings:
        return None
    kept = [each for each in readings if not each.slowed_down] or readings
    clocks = [each.sm_mhz for each in kept]
    return GpuState(
        sm_mhz=(min(clocks), round(statistics.median(clocks)), max(clocks)),
        memory_mhz=round(statistics.median(each.memory_mhz for each in kept)),
        power_watts=round(statistics.median(each.power_watts for each in kept), 1),
        temperature=max(each.temperature for each in kept),
        throttled=sum(each.slowed_down for each in readings),
        power_capped=sum(each.power_capped for each in kept),
    )

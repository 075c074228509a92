"""A GPU that heat or its power supply slows down: what was timed meanwhile says nothing."""

from __future__ import annotations

from kernelgauge.errors import MachineError
from kernelgauge.hardware import clocks
from kernelgauge.hardware.clocks import GpuClocks, Reading
from kernelgauge.schema import GpuState


class Throttle:
    """Looks at the GPU after timed calls; on a CPU, and without NVML, it sees nothing."""

    def __init__(self, device: str):
        self._clocks = GpuClocks(device) if device != "cpu" else None
        self._readings: list[Reading] = []

    def slowed_down(self, most: int) -> bool:
        """Whether its clock was held down during the calls just made.

        Raises:
            MachineError: it was more than so many times.
        """
        if self._clocks is None or not self._clocks.available:
            return False
        reading = self._clocks.read()
        if reading is None:
            return False
        self._readings.append(reading)
        if reading.slowed_down and sum(each.slowed_down for each in self._readings) > most:
            state = f"{reading.sm_mhz} MHz at {reading.temperature} degrees, reasons {reading.reasons:#x}"
            raise MachineError(f"the GPU is slowed down by heat or its power supply and stays so: {state}")
        return reading.slowed_down

    def summary(self) -> GpuState | None:
        """What was seen, for the record; None where nothing was."""
        return clocks.summary(self._readings)

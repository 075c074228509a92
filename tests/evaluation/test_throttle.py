"""Calls under one timer while the GPU is slowed down: taken again, and not for ever."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from kernelgauge.config import load_protocol
from kernelgauge.errors import MachineError
from kernelgauge.evaluation.measurement.published import by_timer
from kernelgauge.evaluation.measurement.samples import NS_PER_MS, Samples
from kernelgauge.evaluation.measurement.throttle import Throttle
from kernelgauge.hardware.clocks import Reading

HOT = 0x40


def reading(reasons: int) -> Reading:
    return Reading(sm_mhz=1980, memory_mhz=3201, power_watts=144.0, temperature=41, reasons=reasons)


class Clocks:
    """Stands in for NVML: what it says after each series of calls."""

    available = True

    def __init__(self, *reasons: int):
        self._next = iter(reasons)

    def read(self) -> Reading:
        return reading(next(self._next))


class Side:
    """Says in its times which series they are of."""

    def __init__(self) -> None:
        self.series = 0
        self.process = SimpleNamespace(freeze=lambda: None)

    def stage(self, *_: object) -> None:
        self.series += 1

    def samples(self, *_: object) -> list[float]:
        return [float(self.series)] * 3


def kept(*reasons: int) -> tuple[list[int], list[int]]:
    """Of which series the samples of reference and candidate are, where these were NVML's reasons after each."""
    throttle, samples = Throttle("cpu"), Samples()
    throttle._clocks = Clocks(*reasons)  # type: ignore[assignment]
    own = Side()
    reference = SimpleNamespace(
        side=own, blamed=lambda _: nullcontext(), arguments=[], master=None, call_seed=1, draw=str, rest=str
    )
    candidate = Side()
    by_timer(load_protocol("v0.1").timing_on("cpu"), samples, reference, candidate, throttle)  # type: ignore[arg-type]
    both = samples.reference, samples.candidate
    of_reference, of_candidate = ([round(sample.computed_ns / NS_PER_MS) for sample in each] for each in both)
    return of_reference, of_candidate


def test_calls_under_throttle_are_taken_again() -> None:
    assert kept(0, 0) == ([1, 1, 1], [1, 1, 1])
    assert kept(HOT, 0, HOT, HOT, 0) == ([2, 2, 2], [3, 3, 3])


def test_a_gpu_that_stays_slow_is_the_machine() -> None:
    with pytest.raises(MachineError, match="slowed down by heat or its power supply and stays so: 1980 MHz"):
        kept(0, HOT, HOT, HOT, HOT)

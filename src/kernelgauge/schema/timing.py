"""How long it took: paired samples of reference and candidate, their ratio, and the state of the GPU meanwhile."""

from __future__ import annotations

import math
from typing import Literal

from pydantic import Field, model_validator

from kernelgauge.schema.base import Record

WIDEST = 4.0
"""An interval of a speedup whose upper end is more than so many times the lower one tells nothing, unless all of it
is as far from 1.

That is a factor of two to both sides of its middle, more than most kernels gain or lose: what disturbed the calls was
larger than what is measured. Such an interval does not keep its confidence either: those of means and of few rounds
assume that what disturbs the calls is small beside them. An interval from 25 to 116 has that trouble too, but nothing
that makes a spread of four makes a kernel of equal speed look 25 times as fast.
"""


WIDEST_TIE = 1.5
"""The same of an interval that holds 1: 0.8 to 1.2 is a tie, and 0.4 to 1.1 leaves open whether the kernel is half as
fast. That is no tie but tells nothing either."""


def tells(interval: tuple[float, float]) -> bool:
    """Whether an interval of a speedup says anything about it; see `WIDEST` and `WIDEST_TIE`."""
    low, high = interval
    if low <= 1 <= high:
        return high <= WIDEST_TIE * low
    return high <= WIDEST * low or low >= WIDEST or high * WIDEST <= 1


Standing = Literal["faster", "slower", "tie", "unclear"]
"""A right kernel against its reference; `unclear` where the machine was too restless to tell (`tells`)."""

STANDINGS: tuple[Standing, ...] = ("faster", "tie", "slower", "unclear")
"""All of them, in the order in which they are shown."""


def standing_of(interval: tuple[float, float]) -> Standing:
    """What an interval of a speedup says, by the whole of it."""
    low, high = interval
    if not tells(interval):
        return "unclear"
    return "faster" if low > 1 else "slower" if high < 1 else "tie"


class GpuState(Record):
    """What the driver said of the GPU between the timed calls."""

    sm_mhz: tuple[int, int, int]
    """Lowest, median and highest clock of the multiprocessors."""
    memory_mhz: int
    power_watts: float
    """Median."""
    temperature: int
    """Highest, in degrees Celsius."""
    throttled: int = Field(default=0, ge=0)
    """Measurements dropped because the GPU was slowed down by heat or by its power supply right after them: pairs, or
    under a timer of its own the calls of one side."""
    power_capped: int = Field(default=0, ge=0)
    """Measurements kept while the power limit held the clock down: both sides feel it alike."""

    @property
    def line(self) -> str:
        """All of it in one sentence, for a reader."""
        low, middle, high = self.sm_mhz
        clock = f"{middle} MHz" if low == high else f"{middle} MHz ({low} to {high})"
        said = [clock, f"memory {self.memory_mhz} MHz", f"{self.power_watts:.0f} W", f"{self.temperature} °C at most"]
        if self.throttled:
            said.append(f"{self.throttled} measurements dropped as it was slowed down")
        if self.power_capped:
            said.append(f"{self.power_capped} measurements under its power limit")
        return ", ".join(said)


class Timing(Record):
    """Paired samples of reference and candidate, and the ratio they support."""

    clock: str
    """Which clock decided: `parent` (monotonic clock of the trusted process), `worker` (its own word), or both."""
    reference_ms: float
    """Typical time of one reference call: median under `strict`, mean under `v0.1` and where slow calls count."""
    candidate_ms: float
    """Typical time of one candidate call."""
    speedup: float
    """Point estimate of reference time over candidate time. Under `strict` that of typical calls (Hodges-Lehmann), or
    of the means where they are surely lower."""
    median_speedup: float | None = Field(default=None, gt=0)
    """Ratio of the medians of all calls; None in older records, as the next."""
    mean_speedup: float | None = Field(default=None, gt=0)
    """Ratio of the means of all calls."""
    by_mean: bool = False
    """Whether `speedup` is that of the means, since the candidate's slow calls surely matter."""
    interval: tuple[float, float]
    """Confidence interval of `speedup`."""
    confidence: float
    overhead_ms: float
    """Message time inside the bracket, calibrated on the reference. Subtracted where the clock is `parent`; what a
    worker's own clock says does not hold it."""
    post_call_ms: float = 0.0
    """Mean time of what the candidate did after saying that it had computed, beyond a copy; in its samples."""
    reference_samples_ms: tuple[float, ...]
    candidate_samples_ms: tuple[float, ...]
    rounds: tuple[int, ...] = ()
    """Pairs taken by each fresh pair of processes, in order."""
    timer: str = "host_time"
    """How a worker timed its own calls; see `timing.timers`."""
    unreported_ms: float = 0.0
    """Mean of what the parent's clock saw of the candidate's calls beyond the worker's word and the cost of messages;
    in its samples."""
    clock_uncertainty_ms: float = 0.0
    """What a worker could have kept to itself in each call without the parent's clock noticing."""
    batch_calls: int = Field(default=0, ge=0)
    """Calls of the candidate in one bracket that its claims were held against; 0: none were, or were needed."""
    underreported_ms: float = Field(default=0.0, ge=0)
    """What its claims were short of those; in its samples."""
    batched_speedup: float | None = Field(default=None, gt=0)
    """The ratio of both sides' calls in one bracket each: an interval begins no higher than it confirms."""
    device_reference_ms: float | None = None
    """Median of a call whose kernels all wait in the queue before the first starts. The worker's word."""
    device_candidate_ms: float | None = None
    launch_bound: bool = False
    """Whether launching took a good part of a call on one side at least."""
    gpu: GpuState | None = None
    stopped: Literal["precise", "budget", "fixed"]
    """Why sampling ended: interval narrow enough, time or sample budget spent, or a fixed count. Where
    processes were asked again, each stops by itself: `budget` if one of them, or the first, did."""

    @property
    def facts(self) -> dict[str, str]:
        """What was measured besides the samples, by a name for a reader."""
        found = {}
        if self.device_reference_ms is not None and self.device_candidate_ms:
            ratio = f"{self.device_reference_ms / self.device_candidate_ms:.3g}x"
            bound = "; launch-bound" if self.launch_bound else ""
            if bound and self.clock == "worker" and len(self.rounds) == 1:
                bound += ", timed in one process: the next may differ by more than the interval"
            times = f"{self.device_reference_ms:.4g} and {self.device_candidate_ms:.4g} ms"
            found["on the device"] = f"{ratio}, {times} without launches{bound}"
        if self.by_mean:
            found["slow calls"] = (
                f"{self.mean_speedup:.3g}x on average counts; {self.median_speedup:.3g}x in the median"
            )
        if self.batched_speedup is not None:
            short = f"; {self.underreported_ms:.3g} ms of a call were not reported" if self.underreported_ms else ""
            calls = f"{self.batch_calls} calls in one bracket of the parent's clock"
            found["batched"] = f"{self.batched_speedup:.3g}x over {calls}{short}"
        if self.gpu is not None:
            found["GPU"] = self.gpu.line
        return found

    @model_validator(mode="after")
    def _consistent(self) -> Timing:
        low, high = self.interval
        if not (0 < low <= self.speedup <= high and math.isfinite(high)):
            raise ValueError(f"speedup {self.speedup} is not inside its interval ({low}, {high})")
        if not self.reference_samples_ms or not self.candidate_samples_ms:
            raise ValueError("a timing needs its raw samples")
        if self.rounds and sum(self.rounds) != len(self.reference_samples_ms):
            raise ValueError("the rounds must add up to the samples")
        if self.by_mean and (self.mean_speedup is None or self.median_speedup is None):
            raise ValueError("a speedup by the mean needs the ratios of mean and median beside it")
        if self.batched_speedup is not None and not self.batch_calls:
            raise ValueError("a ratio of batches needs calls in a batch")
        if (self.device_reference_ms is None) != (self.device_candidate_ms is None):
            raise ValueError("device time is measured on both sides or on neither")
        times = (self.reference_ms, self.candidate_ms, *self.reference_samples_ms, *self.candidate_samples_ms)
        if not all(0 < time < math.inf for time in times):
            raise ValueError("a time must be above zero and finite")
        return self

"""Speed: reference and candidate timed against each other by the parent's clock.

The bracket of a call runs from `go` to `done` and holds, beside the forward, the message and the copy into the output
region. That share is calibrated on the reference, whose own clock can be believed, and subtracted on both sides: a
candidate can neither inflate nor hide it. While one side runs, every thread of the other is stopped.
"""

from __future__ import annotations

import secrets
import statistics
import time
from dataclasses import dataclass, field

from kernelgauge.checks.numerics import Distance
from kernelgauge.config import TimingRules
from kernelgauge.evaluation import judge
from kernelgauge.evaluation.reference import Reference
from kernelgauge.evaluation.side import Side
from kernelgauge.schema import Timing
from kernelgauge.timing.ratio import Ratio, of_means, paired
from kernelgauge.timing.stopping import Why, finished

_NS_PER_MS = 1e6
_UNRESOLVED = 10.0


# Beyond this share of samples at the floor, the interval says that the calls were too short to tell apart.
_TOO_SHORT = 0.1


@dataclass
class _Samples:
    reference_ns: list[int] = field(default_factory=list)
    candidate_ns: list[int] = field(default_factory=list)
    overhead_ns: list[int] = field(default_factory=list)

    def overhead(self) -> float:
        return statistics.median(self.overhead_ns)

    def jitter(self) -> float:
        """Median absolute deviation of the overhead: the shortest time that can be told from nothing."""
        overhead = self.overhead()
        return max(statistics.median([abs(sample - overhead) for sample in self.overhead_ns]), 1000.0)

    def milliseconds(self, brackets: list[int]) -> list[float]:
        """Brackets less the overhead, never below its jitter."""
        overhead, floor = self.overhead(), self.jitter()
        return [max(bracket - overhead, floor) / _NS_PER_MS for bracket in brackets]

    def too_short(self) -> bool:
        """Whether many calls took no longer than the jitter of message and copy."""
        least = self.overhead() + self.jitter()
        brackets = self.reference_ns + self.candidate_ns
        return sum(bracket <= least for bracket in brackets) > _TOO_SHORT * len(brackets)

    def ratio(self, rules: TimingRules) -> Ratio:
        """The ratio with an interval that holds all we know: scatter, resolution, and the overhead's own error."""
        reference, candidate = self.milliseconds(self.reference_ns), self.milliseconds(self.candidate_ns)
        estimate = (paired if rules.interleaved else of_means)(reference, candidate, rules.confidence)
        if self.too_short():
            return estimate.widened(1 - 1 / _UNRESOLVED, _UNRESOLVED - 1)
        # An error of the overhead shifts every sample of both sides alike: sampling more does not average it out.
        error_ms = 1.2533 * 1.4826 * self.jitter() / len(self.overhead_ns) ** 0.5 / _NS_PER_MS
        shift = 2 * error_ms * abs(1 / statistics.median(candidate) - 1 / statistics.median(reference))
        return estimate.widened(max(rules.resolution, min(shift, 0.99)))


def _timed(side: Side, reference: Reference) -> tuple[int, int]:
    """One timed call: bracket and the worker's own figure, both in nanoseconds."""
    side.stage(reference.arguments, reference.master, reference.call_seed)
    call = side.call()
    side.process.freeze()
    judge.shapes(call.claim, side.expected)
    return call.bracket_ns, call.claim.forward_ns


def _verify(reference: Reference, candidate: Side, eager: Distance, count: int) -> None:
    """The outputs of the calls just timed, compared with eager's on the same inputs."""
    agreement = reference.protocol.agreement
    # Eager in working precision stands in for the oracle here, so its own error is allowed once more.
    slack = Distance(eager.rms * (1 + 1 / agreement.multiple), eager.worst * (1 + 1 / agreement.worst_multiple))
    trial, found = judge.compare(agreement, "own", candidate.snapshot(), reference.side.snapshot(), slack)
    if not trial.agreed:
        raise judge.disagreement(trial, found, agreement, f"timed call {count}")


def _pair(reference: Reference, candidate: Side, samples: _Samples) -> None:
    """Time both sides once, in random order, on the same fresh inputs."""
    first_is_candidate = secrets.randbits(1)
    for turn in (0, 1):
        is_candidate = bool(turn) != bool(first_is_candidate)
        side = candidate if is_candidate else reference.side
        side.process.thaw()
        bracket, forward = _timed(side, reference)
        if is_candidate:
            samples.candidate_ns.append(bracket)
        else:
            samples.reference_ns.append(bracket)
            samples.overhead_ns.append(bracket - forward)


def _interleaved(reference: Reference, candidate: Side, eager: Distance) -> tuple[_Samples, Why]:
    rules = reference.protocol.timing
    samples = _Samples()
    started = time.monotonic()
    for warmup in range(rules.warmups):
        reference.draw("own")
        _pair(reference, candidate, _Samples())
        _verify(reference, candidate, eager, -rules.warmups + warmup)
    while True:
        if rules.fresh_inputs or not samples.reference_ns:
            reference.draw("own")
        _pair(reference, candidate, samples)
        if reference.protocol.agreement.check_timed_calls:
            _verify(reference, candidate, eager, len(samples.reference_ns))
        count = len(samples.reference_ns)
        ratio = samples.ratio(rules) if count >= rules.min_samples else None
        if why := finished(rules, count, time.monotonic() - started, ratio):
            return samples, why


def _one_after_the_other(reference: Reference, candidate: Side) -> tuple[_Samples, Why]:
    """The published procedure: warm-ups, then a fixed count of calls on one set of inputs, reference first."""
    rules = reference.protocol.timing
    samples = _Samples()
    reference.draw("own")
    candidate.process.freeze()
    whys: list[Why] = []
    for side, brackets in ((reference.side, samples.reference_ns), (candidate, samples.candidate_ns)):
        started = time.monotonic()
        side.process.thaw()
        side.stage(reference.arguments, reference.master, reference.call_seed)
        for _ in range(rules.warmups):
            side.call()
        while True:
            call = side.call()
            brackets.append(call.bracket_ns)
            if side is reference.side:
                samples.overhead_ns.append(call.bracket_ns - call.claim.forward_ns)
            if why := finished(rules, len(brackets), time.monotonic() - started, None):
                whys.append(why)
                break
        side.process.freeze()
    return samples, "budget" if "budget" in whys else "fixed"


def measure(reference: Reference, candidate: Side, eager: Distance) -> Timing:
    """Time the candidate against the reference by the protocol.

    Args:
        eager: eager's own distance from the oracle, as the checked trials found it.

    Raises:
        Failure: a call failed, or the output of a timed call was wrong.
    """
    rules = reference.protocol.timing
    if rules.interleaved:
        samples, stopped = _interleaved(reference, candidate, eager)
    else:
        samples, stopped = _one_after_the_other(reference, candidate)
    ratio = samples.ratio(rules)
    reference_ms = samples.milliseconds(samples.reference_ns)
    candidate_ms = samples.milliseconds(samples.candidate_ns)
    typical = statistics.median if rules.interleaved else statistics.fmean
    return Timing(
        clock="parent",
        reference_ms=typical(reference_ms),
        candidate_ms=typical(candidate_ms),
        speedup=ratio.estimate,
        interval=(ratio.low, ratio.high),
        confidence=rules.confidence,
        overhead_ms=samples.overhead() / _NS_PER_MS,
        reference_samples_ms=tuple(round(sample, 6) for sample in reference_ms),
        candidate_samples_ms=tuple(round(sample, 6) for sample in candidate_ms),
        stopped=stopped,
    )

"""Speed: reference and candidate timed against each other by the parent's clock.

A call is bracketed from the moment its worker, stopped while the inputs were put in place, is let go on, until it
says that it has computed: before that it cannot have seen the inputs. After it, while its outputs are copied into the
shared region, the clock goes on: both sides copy the same bytes, so what a copy takes beyond the reference's usual
scatter is work, and is added to the call. What the bracket holds beside the forward is calibrated on the reference,
whose own clock can be believed, and subtracted on both sides. While one side runs, all of the other is stopped.
"""

from __future__ import annotations

import itertools
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
from kernelgauge.timing.ratio import Ratio, median_deviation, of_means, of_rounds, paired, standard_error_of_median
from kernelgauge.timing.stopping import Why, finished

_NS_PER_MS = 1e6
_UNRESOLVED = 10.0
# Copies within so many standard deviations of the reference's are its usual scatter.
_SCATTER = 4.0


# Beyond this share of samples at the floor, the interval says that the calls were too short to tell apart.
_TOO_SHORT = 0.1


@dataclass(frozen=True)
class _Sample:
    """One timed call, in nanoseconds on the parent's clock; `forward_ns` is the worker's own word."""

    computed_ns: int
    copy_ns: int
    forward_ns: int


@dataclass
class _Samples:
    reference: list[_Sample] = field(default_factory=list)
    candidate: list[_Sample] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    """Number of pairs at the end of each finished round."""

    def rounds(self) -> list[int]:
        """Pairs in each finished round."""
        return [end - start for start, end in itertools.pairwise([0, *self.ends])]

    def overheads(self) -> list[float]:
        """Message time inside each reference bracket, in nanoseconds."""
        return [sample.computed_ns - sample.forward_ns for sample in self.reference]

    def late_work_ns(self, samples: list[_Sample]) -> list[float]:
        """Per call, what its copy took beyond the reference's median, where usual scatter does not explain it."""
        copies = [own.copy_ns for own in self.reference]
        usual = statistics.median(copies)
        explained = usual + _SCATTER * 1.4826 * median_deviation(copies)
        return [sample.copy_ns - usual if sample.copy_ns > explained else 0.0 for sample in samples]

    def milliseconds(self) -> tuple[list[float], list[float]]:
        """Times of both sides: brackets and late work, less the overhead.

        Never below the overhead's jitter, which bounds what can be told from nothing.
        """
        overhead, floor = statistics.median(self.overheads()), self.jitter_ns()
        times = []
        for samples in (self.reference, self.candidate):
            whole = zip(samples, self.late_work_ns(samples), strict=True)
            brackets = (sample.computed_ns + late - overhead for sample, late in whole)
            times.append([max(bracket, floor) / _NS_PER_MS for bracket in brackets])
        return times[0], times[1]

    def jitter_ns(self) -> float:
        """Median absolute deviation of the overhead: the shortest time that can be told from nothing."""
        return max(median_deviation(self.overheads()), 1000.0)

    def too_short(self) -> bool:
        """Whether many calls took no longer than the jitter of a message."""
        least = statistics.median(self.overheads()) + self.jitter_ns()
        samples = self.reference + self.candidate
        return sum(sample.computed_ns <= least for sample in samples) > _TOO_SHORT * len(samples)

    def ratio(self, rules: TimingRules, resolution: float, final: bool) -> Ratio:
        """The ratio with an interval that holds all we know: scatter, resolution, and the overhead's own error.

        The scatter between rounds is known only at the end (`final`).
        """
        reference, candidate = self.milliseconds()
        estimate = (paired if rules.interleaved else of_means)(reference, candidate, rules.confidence)
        if final and rules.interleaved and len(self.ends) > 1:
            estimate = estimate.covering(of_rounds(reference, candidate, self.rounds(), rules.confidence))
        if self.too_short():
            return estimate.widened(1 - 1 / _UNRESOLVED, _UNRESOLVED - 1)
        # An error of the overhead shifts every sample of both sides alike: sampling more does not average it out.
        error_ms = standard_error_of_median(self.overheads()) / _NS_PER_MS
        shift = 2 * error_ms * abs(1 / statistics.median(candidate) - 1 / statistics.median(reference))
        return estimate.widened(max(resolution, min(shift, 0.99)))


def _timed(side: Side, reference: Reference) -> _Sample:
    """One timed call on the inputs just drawn; the side is stopped while they arrive, and before we look."""
    side.stage(reference.arguments, reference.master, reference.call_seed, stop=True)
    call = side.call()
    side.process.freeze()
    side.snapshot()
    judge.shapes(call.claim, side.expected)
    return _Sample(call.computed_ns, call.copy_ns, call.claim.forward_ns)


def _verify(reference: Reference, candidate: Side, eager: list[Distance], where: str) -> None:
    """The outputs of the calls just timed, compared with eager's on the same inputs.

    Where that is not near enough, the oracle decides: another draw or other weights may be harder on eager too than
    those of the checked trials.
    """
    agreement = reference.protocol.agreement
    slack = eager
    if agreement.rule == "oracle":
        more, most = 1 + 1 / agreement.multiple, 1 + 1 / agreement.worst_multiple
        slack = [Distance(own.rms * more, own.worst * most) for own in eager]
    trial, found = judge.compare(agreement, "own", candidate.kept, reference.side.kept, slack)
    if not trial.agreed and reference.precise:
        truth = reference.truth()
        own = reference.eager_distances(reference.side.kept, truth)
        trial, found = judge.compare(agreement, "own", candidate.kept, truth, own)
    if not trial.agreed:
        raise judge.disagreement(trial, found, agreement, where)


def _pair(reference: Reference, candidate: Side, samples: _Samples) -> None:
    """Time both sides once, in random order, on the same fresh inputs."""
    reference.rest()
    turns = [(reference.side, samples.reference), (candidate, samples.candidate)]
    for side, taken in turns if secrets.randbits(1) else reversed(turns):
        taken.append(_timed(side, reference))


class Measurement:
    """Samples gathered over one or more rounds, each with fresh processes on both sides.

    Args:
        rules: the protocol's timing rules.
        device: where both sides run.
        eager: eager's own distance from the oracle, as the checked trials found it.
    """

    def __init__(self, rules: TimingRules, device: str, eager: list[Distance]):
        self.rules = rules
        self._resolution = rules.resolution.get("cuda" if device.startswith("cuda") else "cpu", 0.0)
        self._eager = eager
        self._samples = _Samples()
        self._seconds = 0.0
        self._stopped: Why = "budget"

    def round(self, reference: Reference, candidate: Side, number: int) -> None:
        """Take the share of samples of round `number`, counted from 1.

        Raises:
            Failure: a call failed, or the output of a timed call was wrong.
        """
        started = time.monotonic()
        share = number / self.rules.processes
        if self.rules.interleaved:
            self._stopped = self._interleaved(reference, candidate, started, share)
        else:
            self._stopped = self._one_after_the_other(reference, candidate, started, share)
        self._samples.ends.append(len(self._samples.reference))
        self._seconds += time.monotonic() - started

    def _interleaved(self, reference: Reference, candidate: Side, started: float, share: float) -> Why:
        samples, rules = self._samples, self.rules
        for warmup in range(rules.warmups):
            reference.draw("own")
            _pair(reference, candidate, _Samples())
            _verify(reference, candidate, self._eager, f"warm-up {warmup + 1}")
        for side in (reference.side, candidate):
            side.process.spread_threads()
        drawn = False
        while True:
            if rules.fresh_inputs or not drawn:
                reference.draw("own")
                drawn = True
            _pair(reference, candidate, samples)
            count = len(samples.reference)
            if reference.protocol.agreement.check_timed_calls:
                _verify(reference, candidate, self._eager, f"timed call {count}")
            seconds = self._seconds + time.monotonic() - started
            ratio = (
                samples.ratio(rules, self._resolution, final=False) if count >= rules.min_samples * share else None
            )
            if why := finished(rules, count, seconds, ratio, self._resolution, share):
                return why

    def _one_after_the_other(self, reference: Reference, candidate: Side, started: float, share: float) -> Why:
        """The published procedure: warm-ups, then a fixed count of calls on one set of inputs, reference first."""
        reference.draw("own")
        reference.rest()
        candidate.process.freeze()
        whys: list[Why] = []
        for side, samples in ((reference.side, self._samples.reference), (candidate, self._samples.candidate)):
            side.stage(reference.arguments, reference.master, reference.call_seed)
            for _ in range(self.rules.warmups):
                side.call()
            while True:
                call = side.call()
                samples.append(_Sample(call.computed_ns, call.copy_ns, call.claim.forward_ns))
                if why := finished(
                    self.rules, len(samples), time.monotonic() - started, None, self._resolution, share
                ):
                    whys.append(why)
                    break
            side.process.freeze()
            started = time.monotonic()
        return "budget" if "budget" in whys else "fixed"

    def result(self) -> Timing:
        """The ratio the samples support, with the samples."""
        rules, samples = self.rules, self._samples
        ratio = samples.ratio(rules, self._resolution, final=True)
        reference_ms, candidate_ms = samples.milliseconds()
        typical = statistics.median if rules.interleaved else statistics.fmean
        return Timing(
            clock="parent",
            reference_ms=typical(reference_ms),
            candidate_ms=typical(candidate_ms),
            speedup=ratio.estimate,
            interval=(ratio.low, ratio.high),
            confidence=rules.confidence,
            overhead_ms=statistics.median(samples.overheads()) / _NS_PER_MS,
            late_work_ms=statistics.fmean(samples.late_work_ns(samples.candidate)) / _NS_PER_MS,
            reference_samples_ms=tuple(round(sample, 6) for sample in reference_ms),
            candidate_samples_ms=tuple(round(sample, 6) for sample in candidate_ms),
            rounds=tuple(samples.rounds()),
            stopped=self._stopped,
        )

"""The timed calls of both sides, and the times that follow from the parent's clock and the workers' words."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from kernelgauge.config import TimingPlan
from kernelgauge.evaluation.measurement.delays import SCATTER, beyond_the_others, excess
from kernelgauge.timing.ratio import (
    Ratio,
    median_deviation,
    of_means,
    of_rounds,
    paired,
    standard_error_of_median,
)
from kernelgauge.timing.slow_calls import SlowCalls, slow_calls

NS_PER_MS = 1e6
_UNRESOLVED = 10.0
# A median that is so many standard errors of the difference above another is higher.
_TOLD = 2.0
# A device that answers so much later than after the reference was at work may still be at work,
_BUSY_NS = 20_000
# and hides what matters only from this share of the call on: after a kernel of 20 to 100 ms an H100 answers 0.08 to
# 0.13 ms later than after a short one, which has slept meanwhile like the parent (results/h100/device_answers.json).
_HIDDEN = 0.05
# What a worker's own part of a message takes on a CPU: a candidate that leaves it out seems faster by as much.
_SHAVED_NS = 25_000
# Beyond this share of samples at the floor, the interval says that the calls were too short to tell apart.
_TOO_SHORT = 0.1
# What two honest processes may differ by between a call and the message about it, as a share of that; 0.16 was seen.
_HONEST_GAP = 0.25
# Fewer say nothing of their own scatter.
_FEWEST_BLOCKS = 6
# How sure it must be that delays of messages are the candidate's own: 9 of 286 calls once made a copy of a reference
# of 0.06 ms 13 % slower, where the reference had 4 (A/A on an H100).
_BY_DELAYS = 0.99
# What a row of honest calls has been seen to take longer than each by itself: launches, copies, a lower clock.
_BATCH_SURPLUS = 0.1
# What a message could hide is shared by no more calls than this: in a row honest ones took 0.045 ms longer each.
_SHARING = 8


@dataclass(frozen=True)
class Sample:
    """One timed call, in nanoseconds on the parent's clock; `forward_ns` is the worker's own word.

    The other times are those of `side.Call`.
    """

    computed_ns: int
    copy_ns: int
    forward_ns: int
    drain_ns: int = 0
    staged_ns: int = 0


@dataclass
class Samples:
    """Pairs of timed calls, in rounds.

    On a CPU a time is the parent's bracket, less what messages cost the reference. On a GPU (`claims`) that is too
    coarse for a short kernel: there a time is what the worker's events say, and the bracket has a veto. What the
    brackets of one side hold beyond its claims, more than those of the other do, is added to its times.
    """

    claims: bool = False
    reference: list[Sample] = field(default_factory=list)
    candidate: list[Sample] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    """Number of pairs at the end of each finished round."""
    batch_calls: int = 0
    """Calls in one bracket that the candidate's claims were held against; 0: none."""
    underreported_ns: float = 0.0
    """What its claims are short of those."""
    row_ratios: list[float] = field(default_factory=list)
    """Of each round held against a row: the reference's time in one bracket over the candidate's."""

    def rounds(self) -> list[int]:
        """Pairs in each finished round."""
        return [end - start for start, end in itertools.pairwise([0, *self.ends])]

    def drop_block(self) -> None:
        """Forget the block that the pair taken last belongs to."""
        for taken in (self.reference, self.candidate):
            del taken[(len(taken) - 1) // 2 * 2 :]

    def overheads(self) -> list[float]:
        """Message time inside each reference bracket, in nanoseconds."""
        return _gaps(self.reference)

    def post_call_ns(self, samples: list[Sample]) -> list[float]:
        """Per call of one side, what went on outside its bracket: after its worker had said that it was done, on the
        device or in a copy; on a CPU also before the call, while it was to get ready."""
        copies = self._surplus(samples, [own.copy_ns for own in self.reference], lambda sample: sample.copy_ns)
        parts = zip(copies, self._drains_ns(samples), self._staged_ns(samples), strict=True)
        return [copy + drain + staged for copy, drain, staged in parts]

    def _staged_ns(self, samples: list[Sample]) -> list[float]:
        """On a GPU a call takes less than what messages scatter by: there the memory's floor stands in."""
        if self.claims:
            return [0.0 for _ in samples]
        own = [sample.staged_ns for sample in self.reference]
        singly = self._surplus(samples, own, lambda sample: sample.staged_ns)
        if samples is self.reference:
            return singly
        typically = statistics.median(sample.staged_ns for sample in samples) - statistics.median(own)
        told = typically - self._staging_error_ns()
        return [max(each, told) for each in singly]

    def _staging_error_ns(self) -> float:
        """What the medians of both sides' stagings may differ by without a reason.

        On a busy host single ones scatter by more than a trick would take, a median does not. Nothing of the
        candidate's own scatter enters.
        """
        return _TOLD * math.sqrt(2) * standard_error_of_median([sample.staged_ns for sample in self.reference])

    def unfinished(self) -> float:
        """Share of the candidate's calls that left a part that matters of their work on the device when they said
        that they had computed. What it took is charged in any case."""
        drains = zip(self._drains_ns(self.candidate), self.candidate, strict=True)
        late = sum(drain > max(_BUSY_NS, _HIDDEN * sample.forward_ns) for drain, sample in drains)
        return late / max(len(self.candidate), 1)

    def _drains_ns(self, samples: list[Sample]) -> list[float]:
        return self._surplus(samples, [own.drain_ns for own in self.reference], lambda sample: sample.drain_ns)

    def unreported_ns(self, samples: list[Sample]) -> list[float]:
        """Per call of one side, what its bracket holds beyond its claim and what a message may take.

        Call by call: a median would not notice a lie in every second one.
        """
        if not self.claims:
            return [0.0 for _ in samples]
        return self._surplus(samples, self.overheads(), _gap, self.clock_uncertainty_ns())

    def _surplus(
        self,
        samples: list[Sample],
        own: Sequence[float],
        taken: Callable[[Sample], float],
        slack: float | None = None,
    ) -> list[float]:
        """Per call of one side, what it took beyond the reference's median and `slack`, less what the other took so.

        A busy host delays either side's messages now and then: the largest delay of one side is held against the
        largest of the other, and so on.

        Args:
            own: what the reference's calls took.
            slack: default: the reference's usual scatter.
        """
        ours, theirs = (
            excess([taken(sample) for sample in side], own, slack) for side in (samples, self._other(samples))
        )
        return beyond_the_others(ours, theirs)

    def _other(self, samples: list[Sample]) -> list[Sample]:
        return self.reference if samples is self.candidate else self.candidate

    def clock_uncertainty_ns(self) -> float:
        """What a worker could keep to itself in a call: the reference's usual scatter, or what processes differ by.

        Nothing of the candidate's enters: it could widen its own allowance. 0 where the parent's clock decides.
        """
        if not self.claims:
            return 0.0
        overheads = self.overheads()
        return max(SCATTER * 1.4826 * median_deviation(overheads), _HONEST_GAP * statistics.median(overheads))

    def hold_against(self, calls: int, own_ns: float, other_ns: float) -> None:
        """Charge the candidate's calls what those of the round taken last claim to be much faster than in a row.

        A claim that is a little too low is not charged: it cannot be told from what a row costs. So the interval
        begins no higher than the ratio of both rows, which share that.

        Args:
            own_ns, other_ns: per call of the reference's and the candidate's row of so many, less messages and
                copies; above zero.
        """
        self.batch_calls = max(self.batch_calls, calls)
        self.underreported_ns = max(self.underreported_ns, self.short_of(calls, other_ns))
        self.row_ratios.append(own_ns / other_ns)

    def short_of(self, calls: int, per_call_ns: float) -> float:
        """What a claim of the round taken last is short of a batch of calls; 0 where less than can be told.

        A row is off by no more than one message, shared by its calls, and by what it costs itself: launches, which
        a kernel of microseconds does not hide.
        """
        start = self.ends[-2] if len(self.ends) > 1 else 0
        claimed = self._charged(self.candidate)[start:]
        short = per_call_ns - statistics.median(claimed) * NS_PER_MS
        return (
            short
            if short > self.clock_uncertainty_ns() / min(calls, _SHARING) + _BATCH_SURPLUS * per_call_ns
            else 0.0
        )

    def batched_ratio(self) -> float | None:
        """The ratio as batches of calls have it, in which no worker has a say; None where there were none."""
        return statistics.geometric_mean(self.row_ratios) if self.row_ratios else None

    def milliseconds(self) -> tuple[list[float], list[float]]:
        """Times of both sides, one per call."""
        return self._claimed() if self.claims else self._bracketed()

    def _claimed(self) -> tuple[list[float], list[float]]:
        underreported_ms = self.underreported_ns / NS_PER_MS
        return self._charged(self.reference), [time + underreported_ms for time in self._charged(self.candidate)]

    def _charged(self, samples: list[Sample]) -> list[float]:
        charged = zip(samples, self.unreported_ns(samples), self.post_call_ns(samples), strict=True)
        return [(max(sample.forward_ns, 1) + excess + late) / NS_PER_MS for sample, excess, late in charged]

    def charged_share(self) -> float:
        """What the parent's clock has added to the claims of one side, as a share of them: of the worse side."""
        if not self.claims:
            return 0.0
        sides = (self.reference, self.candidate)
        claimed = (sum(max(sample.forward_ns, 1) for sample in samples) for samples in sides)
        return max(sum(self._charged(side)) * NS_PER_MS / own - 1 for side, own in zip(sides, claimed, strict=True))

    def _bracketed(self) -> tuple[list[float], list[float]]:
        """Brackets and late work, less the overhead; never below its jitter, which bounds what can be told from
        nothing."""
        overhead, floor = statistics.median(self.overheads()), self.jitter_ns()
        times = []
        for samples in (self.reference, self.candidate):
            whole = zip(samples, self.post_call_ns(samples), strict=True)
            brackets = (sample.computed_ns + late - overhead for sample, late in whole)
            times.append([max(bracket, floor) / NS_PER_MS for bracket in brackets])
        return times[0], times[1]

    def jitter_ns(self) -> float:
        """Median absolute deviation of the overhead: the shortest time that can be told from nothing."""
        return max(median_deviation(self.overheads()), 1000.0)

    def too_short(self) -> bool:
        """Whether many calls took no longer than the jitter of a message."""
        least = statistics.median(self.overheads()) + self.jitter_ns()
        samples = self.reference + self.candidate
        return sum(sample.computed_ns <= least for sample in samples) > _TOO_SHORT * len(samples)

    def blocks(self, since: int = 0) -> tuple[list[float], list[float]]:
        """Times of both sides that can be compared one to one.

        On a GPU the place within a pair makes up to 12 % (memory-bound kernels on an H200), so two pairs in opposite
        order make a block: the geometric mean of both.

        Args:
            since: how many of the first pairs to leave out.
        """
        reference, candidate = (times[since:] for times in self.milliseconds())
        if not self.claims or len(reference) < 2 * _FEWEST_BLOCKS:
            return reference, candidate
        return _in_twos(reference), _in_twos(candidate)

    def ratio(self, plan: TimingPlan, final: bool, since: int = 0) -> Ratio:
        """The ratio with an interval that holds all we know: scatter, resolution, and the overhead's own error.

        What is known only at the end (`final`): the scatter between rounds; and on a GPU the resolution, which
        sampling must not stop at.

        Args:
            since: how many of the first pairs to leave out, while sampling goes on.
        """
        reference, candidate = self.blocks(since) if plan.interleaved else self.milliseconds()
        estimate = (paired if plan.interleaved else of_means)(reference, candidate, plan.confidence)
        if final and plan.interleaved and len(self.ends) > 1:
            estimate = estimate.covering(of_rounds(*self.milliseconds(), self.rounds(), plan.confidence))
        if plan.interleaved and final and (slow := self.slow_calls(plan)).count:
            estimate = slow.counted(estimate)
        if self.claims:
            return self._confirmed(estimate.widened(plan.resolution)) if final else estimate
        if self.too_short():
            return estimate.widened(1 - 1 / _UNRESOLVED, _UNRESOLVED - 1)
        # An error of the overhead shifts every sample of both sides alike: sampling more does not average it out.
        error_ms = standard_error_of_median(self.overheads()) / NS_PER_MS
        shift = 2 * error_ms * abs(1 / statistics.median(candidate) - 1 / statistics.median(reference))
        known = estimate.widened(max(plan.resolution, min(shift, 0.99)))
        unseen_ms = max(_SHAVED_NS, 2 * self._staging_error_ns()) / NS_PER_MS
        shaved = estimate.estimate / (1 + unseen_ms / statistics.median(candidate))
        return replace(known, low=min(known.low, shaved))

    def slow_calls(self, plan: TimingPlan) -> SlowCalls:
        """What the candidate's slow calls cost, beside its typical ones.

        What the parent's clock has added counts only if it is more than chance gives one side: each delay of a
        message is chance, and how many the other side had is not seen any more in what is left of it.
        """
        typical = paired(*self.blocks(), plan.confidence).estimate
        found = slow_calls(*self.milliseconds(), self.rounds(), typical, plan)
        if not (self.claims and found.count):
            return found
        surely = plan.model_copy(update={"confidence": max(plan.confidence, _BY_DELAYS)})
        reference, candidate = self._with_delays(self.reference), self._with_delays(self.candidate)
        sure = slow_calls(reference, candidate, self.rounds(), typical, surely)
        return replace(found, count=sure.count, open=sure.open)

    def _with_delays(self, samples: list[Sample]) -> list[float]:
        """Claims of one side with all that its brackets hold beyond them, in milliseconds."""
        own = self.reference
        late = (
            excess(_gaps(samples), self.overheads(), self.clock_uncertainty_ns()),
            excess([sample.copy_ns for sample in samples], [sample.copy_ns for sample in own]),
            excess([sample.drain_ns for sample in samples], [sample.drain_ns for sample in own]),
        )
        claims = (max(sample.forward_ns, 1) for sample in samples)
        return [sum(parts) / NS_PER_MS for parts in zip(claims, *late, strict=True)]

    def _confirmed(self, ratio: Ratio) -> Ratio:
        """With an interval that begins no higher than what batches of calls confirm."""
        confirmed = self.batched_ratio()
        return ratio if confirmed is None else replace(ratio, low=min(ratio.low, confirmed))


def _in_twos(times: list[float]) -> list[float]:
    """Geometric means of the first and second, third and fourth, ...; one left over is left out."""
    return [math.sqrt(one * other) for one, other in zip(times[::2], times[1::2], strict=False)]


def _gaps(samples: list[Sample]) -> list[float]:
    return [_gap(sample) for sample in samples]


def _gap(sample: Sample) -> int:
    """What a bracket holds beyond the worker's own word, in nanoseconds."""
    return sample.computed_ns - sample.forward_ns

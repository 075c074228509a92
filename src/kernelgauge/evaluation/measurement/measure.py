"""Speed: reference and candidate timed against each other by the parent's clock.

A call is bracketed from the moment its worker, stopped while the inputs were put in place, is let go on, until it
says that it has computed: before that it cannot have seen the inputs. After it, while its outputs are copied into the
shared region, the clock goes on: both sides copy the same bytes, so what a copy takes beyond the reference's usual
scatter is work, and is added to the call. How times follow from brackets is said in `samples`. While one side runs,
all of the other is stopped.
"""

from __future__ import annotations

import math
import secrets
import statistics
import time
from collections.abc import Mapping

import torch

from kernelgauge.checks.numerics import Distance
from kernelgauge.config import TimingPlan
from kernelgauge.errors import OutOfDeviceMemory, ReferenceTooLarge
from kernelgauge.evaluation.correctness import verdicts
from kernelgauge.evaluation.correctness.timed_outputs import Inputs, agree, verify
from kernelgauge.evaluation.failures import Failure
from kernelgauge.evaluation.measurement.batch import Batch, Uneven, affordable
from kernelgauge.evaluation.measurement.deck import Deck
from kernelgauge.evaluation.measurement.published import by_timer, one_after_the_other
from kernelgauge.evaluation.measurement.samples import NS_PER_MS, Sample, Samples
from kernelgauge.evaluation.measurement.throttle import Throttle
from kernelgauge.evaluation.sides.reference import Reference
from kernelgauge.evaluation.sides.side import Call, Side
from kernelgauge.hardware.cores import keeping_off, launch_core, launch_cores, pin, spread_threads
from kernelgauge.schema import Outcome, Timing
from kernelgauge.timing.quiet_memory import QuietMemory
from kernelgauge.timing.ratio import Ratio
from kernelgauge.timing.stopping import Why, finished, needs_further_recheck, needs_recheck
from kernelgauge.timing.timers import timer_named

# Warm-ups and calls of each side from which its device time is taken; fewer where they would take longer than this.
_DEVICE_WARMUPS, _DEVICE_CALLS = 2, 10
_FEWEST_DEVICE_CALLS = 3
_DEVICE_SECONDS = 0.25
# A call is launch-bound if its kernels would take less than this share of it.
_BUSY = 0.8
_MOST_PAIRS_THROTTLED = 50
# Share of calls: fewer may be accidents, and what they took is charged.
_MOST_UNFINISHED = 0.5
_FEWEST_CALLS = 10
# Each may be disturbed: before anybody loses by them, so many have said the same.
_ROWS = 4
# Nor does anybody win by one: a disturbed row of the reference's would confirm whatever is claimed.
_FEWEST_ROWS = 2
# Of a ratio: what no batch of calls is taken for.
_FINEST = 0.005
# An interval takes longer to compute than a short pair to measure: not after every one.
_LOOK_AGAIN = 1.1


def _device_calls(slowest_s: float) -> tuple[int, int]:
    """Warm-ups and calls of a side whose slowest call has taken so long."""
    calls = int(_DEVICE_SECONDS / max(slowest_s, 1e-6))
    if calls >= _DEVICE_WARMUPS + _DEVICE_CALLS:
        return _DEVICE_WARMUPS, _DEVICE_CALLS
    return 1, min(max(calls - 1, _FEWEST_DEVICE_CALLS), _DEVICE_CALLS)


class Measurement:
    """Samples gathered over one or more rounds, each with fresh processes on both sides.

    Args:
        plan: how the protocol times on this device.
        device: where both sides run.
    """

    def __init__(self, plan: TimingPlan, device: str):
        self.plan = plan
        self._device = device
        self._inputs: dict[str, Inputs] = {}
        self._deck = Deck(())
        on_gpu = device != "cpu"
        self._samples = Samples(claims=on_gpu)
        self._quiet_memory = QuietMemory(device)
        self._throttle = Throttle(device)
        self._core = launch_core(device) if on_gpu else None
        # Other devices have launch cores too, and this thread looks for messages without sleeping.
        self._launching = launch_cores() if on_gpu else []
        self._drawn: Inputs | None = None
        self._device_ms: tuple[float, float] | None = None
        self._reference_first = True
        self._seconds = 0.0
        self._stopped: Why = "budget"

    def round(self, reference: Reference, candidate: Side, number: int, eager: Mapping[str, list[Distance]]) -> None:
        """Take the share of samples of round `number`, counted from 1.

        Args:
            eager: by kind of inputs, eager's own distance from the oracle, as the checked trials found it.

        Raises:
            Failure: a call failed, or the output of a timed call was wrong.
            MachineError: the GPU is slowed down by heat or its power supply, and stays so.
        """
        started = time.monotonic()
        if eager.keys() != self._inputs.keys():
            self._deck = Deck(eager)
        self._inputs = {variant: Inputs(variant, own) for variant, own in eager.items()}
        if self.plan.interleaved:
            with keeping_off(self._launching):
                stopped = self._interleaved(reference, candidate, number)
            asked_again = number > self.plan.processes
            self._stopped = "budget" if asked_again and self._stopped == "budget" else stopped
        elif self._device == "cpu":
            share = number / self.plan.processes
            self._stopped = one_after_the_other(self.plan, self._samples, reference, candidate, started, share)
        else:
            self._stopped = by_timer(self.plan, self._samples, reference, candidate, self._throttle)
        self._samples.ends.append(len(self._samples.reference))
        enough = len(self._samples.candidate) >= _FEWEST_CALLS
        if enough and (unfinished := self._samples.unfinished()) > _MOST_UNFINISHED:
            reason = f"forward: the GPU was still at work in {unfinished:.0%} of the calls it said it had computed"
            raise Failure(Outcome.REJECTED, reason, "work_after_the_clock")
        if self._device != "cpu" and number >= self.plan.processes:
            with keeping_off(self._launching):
                self._hold_against_a_batch(reference, candidate)
        if self._device != "cpu" and number == self.plan.processes:
            self._take_device_time(reference, candidate)
        self._seconds += time.monotonic() - started

    def _timed(self, side: Side, reference: Reference) -> Call:
        """One timed call on the inputs just drawn; the side is stopped while they arrive, and before we look."""
        if side is not reference.side:
            side.allow(reference.side.slowest_s)
        with reference.blamed(side):
            side.stage(reference.arguments, reference.master, reference.call_seed, stop=True)
            self._quiet_memory()
            call = side.call(self.plan.timer, look=True)
            side.process.freeze()
            if self._device == "cpu":  # on a GPU the call has done that, inside its clock
                side.buffers.snapshot()
            verdicts.shapes(call.claim, side.buffers.expected)
        return call

    def _pair(self, reference: Reference, candidate: Side, samples: Samples, where: str) -> None:
        """Time both sides once on the same fresh inputs; the order is random, and every second time the opposite.

        Args:
            where: which pair it is, for the reason of a refusal.
        """
        if reference.clearing.cold:
            self._call_again(reference, candidate)
        inputs = self._draw(reference)
        if reference.clearing.cold:
            raise ReferenceTooLarge(
                "there is no room to draw inputs beside two sides that are ready for a timed call"
            )
        reference.rest()
        if len(samples.reference) % 2 == 0:
            self._reference_first = bool(secrets.randbits(1))
        else:
            self._reference_first = not self._reference_first
        turns = [(reference.side, samples.reference), (candidate, samples.candidate)]
        claims = {}
        for side, taken in turns if self._reference_first else reversed(turns):
            call = self._timed(side, reference)
            claims[side] = call.claim
            own_ns = call.claim.forward_ns
            taken.append(Sample(call.computed_ns, call.copy_ns, own_ns, call.drain_ns, call.staged_ns))
        if reference.protocol.tolerance.check_timed_calls:
            verify(reference, candidate, inputs, (claims[reference.side], claims[candidate]), where)

    def _call_again(self, reference: Reference, candidate: Side) -> None:
        """A pair of calls of which nothing counts: both sides have given back memory that they would now ask the
        driver for inside the clock, and a candidate that keeps its own would gain by that."""
        reference.clearing.cold = False
        self._draw(reference)
        reference.rest()
        for side in (reference.side, candidate):
            self._timed(side, reference)

    def _draw(self, reference: Reference) -> Inputs:
        """New inputs for both sides, or the same again under rules that want no others."""
        if self.plan.fresh_inputs or self._drawn is None:
            self._drawn = self._inputs[self._deck.deal()]
            reference.draw(self._drawn.variant)
        return self._drawn

    def _interleaved(self, reference: Reference, candidate: Side, number: int) -> Why:
        samples, plan = self._samples, self.plan
        before = len(samples.reference)
        share, since, began = number / plan.processes, 0, time.monotonic() - self._seconds
        if number > plan.processes:  # asked again: like the first, whatever that has said
            share, since, began = 1 / plan.processes, before, time.monotonic()
        self._drawn = None
        for warmup in range(plan.warmups):
            self._pair(reference, candidate, Samples(), f"warm-up {warmup + 1}")
        for side in (reference.side, candidate):
            if self._device == "cpu":
                spread_threads(side.process.pid)
            elif self._core is not None:
                pin(side.process.pid, self._core)
        looked = 0
        while True:
            self._pair(reference, candidate, samples, f"timed call {len(samples.reference) + 1}")
            count = len(samples.reference)
            if self._throttle.slowed_down(_MOST_PAIRS_THROTTLED):
                samples.drop_block()
                continue
            if samples.claims and count % 2:
                continue  # half a block
            ratio: Ratio | None = None
            counted, own = count - since, count - before
            enough = counted >= plan.min_samples * share and own >= plan.min_samples / plan.processes
            if enough and counted >= looked * _LOOK_AGAIN:
                looked = counted
                if not samples.slow_calls(plan).open:
                    ratio = samples.ratio(plan, final=False, since=since)
            resolution = 0.0 if samples.claims else plan.resolution
            seconds = time.monotonic() - began
            if why := finished(plan, counted, seconds, ratio, resolution, share, own=own):
                return why

    def _hold_against_a_batch(self, reference: Reference, candidate: Side) -> None:
        """Where a message's scatter could make up a win that the candidate claims, look at many calls at once."""
        plan, samples = self.plan, self._samples
        if not plan.interleaved or not timer_named(plan.timer).counts_launches:
            return
        if samples.ratio(plan, final=True).low <= 1:
            return
        typical = statistics.median(samples.milliseconds()[1]) * NS_PER_MS
        worth = samples.clock_uncertainty_ns() / (max(plan.resolution, _FINEST) * typical)
        calls = affordable(reference, math.ceil(worth))
        if calls < 2:
            return
        try:
            own, other = self._shortest_batches(Batch(reference, candidate, calls, self._deck.deal))
        except (OutOfDeviceMemory, torch.OutOfMemoryError, ReferenceTooLarge, Uneven) as error:
            reference.notes.append(f"claims were not held against a batch of calls: {str(error).splitlines()[0]}")
            return
        samples.hold_against(calls, own, other)

    def _shortest_batches(self, batch: Batch) -> tuple[float, float]:
        """Nanoseconds for each call of the fastest of several batches of both sides; a first one, and disturbed ones,
        take longer."""

        def verified(variant: str, outputs: list[torch.Tensor], due: list[torch.Tensor], where: str) -> None:
            agree(batch.reference, self._inputs[variant], outputs, due, where)

        batch.take(verified)
        claimed = self._samples.ratio(self.plan, final=True).low
        shortest = (math.inf, math.inf)
        for row in range(1, _ROWS + 1):
            # A batch shorter than one without computing: calls too short to be seen in a row.
            now = [max((taken - batch.idle_ns) / batch.calls, 1.0) for taken in batch.take(verified)]
            shortest = (min(shortest[0], now[0]), min(shortest[1], now[1]))
            own, other = shortest
            told = own >= claimed * other and not self._samples.short_of(batch.calls, other)
            if told and row >= _FEWEST_ROWS:
                break
        return shortest

    def _take_device_time(self, reference: Reference, candidate: Side) -> None:
        """Median device time of both sides, launches left out, on fresh inputs; left out where a side cannot."""
        reference.draw("own")
        medians = []
        for side in (reference.side, candidate):
            side.stage(reference.arguments, reference.master, reference.call_seed)
            try:
                taken = side.samples("queued_event", *_device_calls(side.slowest_s))
            except Failure as failure:
                reference.notes.append(f"no device time: {failure.reason}")
                return
            medians.append(statistics.median(taken))
        self._device_ms = (medians[0], medians[1])

    def _clock(self) -> str:
        if self._device == "cpu":
            return "parent"
        return "worker, parent's veto" if self.plan.interleaved else "worker"

    def needs_recheck(self) -> bool:
        """Whether what these processes have said so far should be asked of others too."""
        samples, plan = self._samples, self.plan
        if plan.interleaved and plan.recheck_band > 0 and samples.slow_calls(plan).count:
            return True
        return needs_recheck(samples.ratio(plan, final=True), plan, samples.charged_share())

    def needs_further_recheck(self) -> bool:
        """Whether processes that were asked again have left it open."""
        return needs_further_recheck(self._samples.ratio(self.plan, final=True), self.plan)

    def result(self) -> Timing:
        """The ratio the samples support, with the samples."""
        plan, samples = self.plan, self._samples
        ratio = samples.ratio(plan, final=True)
        reference_ms, candidate_ms = samples.milliseconds()
        by_mean = plan.interleaved and samples.slow_calls(plan).count
        if plan.interleaved and not by_mean:
            calls_ms = [statistics.median(times) for times in samples.blocks()]
        else:
            calls_ms = [statistics.fmean(reference_ms), statistics.fmean(candidate_ms)]
        device_ms = self._device_ms
        return Timing(
            clock=self._clock(),
            timer=plan.timer,
            reference_ms=calls_ms[0],
            candidate_ms=calls_ms[1],
            speedup=ratio.estimate,
            median_speedup=statistics.median(reference_ms) / statistics.median(candidate_ms),
            mean_speedup=statistics.fmean(reference_ms) / statistics.fmean(candidate_ms),
            by_mean=by_mean,
            interval=(ratio.low, ratio.high),
            confidence=plan.confidence,
            overhead_ms=statistics.median(samples.overheads()) / NS_PER_MS,
            post_call_ms=statistics.fmean(samples.post_call_ns(samples.candidate)) / NS_PER_MS,
            unreported_ms=statistics.fmean(samples.unreported_ns(samples.candidate)) / NS_PER_MS,
            clock_uncertainty_ms=samples.clock_uncertainty_ns() / NS_PER_MS if plan.interleaved else calls_ms[1],
            batch_calls=samples.batch_calls,
            batched_speedup=samples.batched_ratio(),
            underreported_ms=samples.underreported_ns / NS_PER_MS,
            device_reference_ms=device_ms[0] if device_ms else None,
            device_candidate_ms=device_ms[1] if device_ms else None,
            launch_bound=device_ms is not None
            and any(device < _BUSY * call for device, call in zip(device_ms, calls_ms, strict=True)),
            gpu=self._throttle.summary(),
            reference_samples_ms=tuple(round(sample, 6) for sample in reference_ms),
            candidate_samples_ms=tuple(round(sample, 6) for sample in candidate_ms),
            rounds=tuple(samples.rounds()),
            stopped=self._stopped,
        )

"""The published procedures: warm-ups, then many calls of one side on one set of inputs, then of the other."""

from __future__ import annotations

import time

from kernelgauge.config import TimingPlan
from kernelgauge.evaluation.measurement.samples import NS_PER_MS, Sample, Samples
from kernelgauge.evaluation.measurement.throttle import Throttle
from kernelgauge.evaluation.sides.reference import Reference
from kernelgauge.evaluation.sides.side import Side
from kernelgauge.timing.stopping import Why, finished

# Of calls under one timer, which take as long as many pairs.
_MOST_SERIES_THROTTLED = 3


def one_after_the_other(
    plan: TimingPlan, samples: Samples, reference: Reference, candidate: Side, started: float, share: float
) -> Why:
    """On a CPU: a fixed count of calls by the parent's clock, the reference's first.

    Args:
        started: when the reference's turn began, by `time.monotonic`.
        share: how much of samples and budget may be spent by the end of this round.
    """
    reference.draw("own")
    reference.rest()
    candidate.process.freeze()
    whys: list[Why] = []
    for side, taken in ((reference.side, samples.reference), (candidate, samples.candidate)):
        side.stage(reference.arguments, reference.master, reference.call_seed)
        for _ in range(plan.warmups):
            side.call()
        while True:
            call = side.call()
            taken.append(Sample(call.computed_ns, call.copy_ns, call.claim.forward_ns))
            seconds = time.monotonic() - started
            if why := finished(plan, len(taken), seconds, None, plan.resolution, share):
                whys.append(why)
                break
        side.process.freeze()
        started = time.monotonic()
    return "budget" if "budget" in whys else "fixed"


def by_timer(plan: TimingPlan, samples: Samples, reference: Reference, candidate: Side, throttle: Throttle) -> Why:
    """On a GPU: each worker's timer measures many calls; those of a GPU that was slowed down are made again.

    Raises:
        MachineError: it stays slowed down.
    """
    reference.draw("own")
    reference.rest()
    candidate.process.freeze()
    for side, taken in ((reference.side, samples.reference), (candidate, samples.candidate)):
        slowed_down = True
        while slowed_down:
            with reference.blamed(side):
                side.stage(reference.arguments, reference.master, reference.call_seed)
                measured = side.samples(plan.timer, plan.warmups, plan.max_samples)
            side.process.freeze()
            slowed_down = throttle.slowed_down(_MOST_SERIES_THROTTLED)
        taken.extend(Sample(round(ms * NS_PER_MS), 0, round(ms * NS_PER_MS)) for ms in measured)
    return "fixed"

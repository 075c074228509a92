"""The timing of one job over fresh pairs of processes."""

from __future__ import annotations

from kernelgauge.checks.numerics import Distance
from kernelgauge.evaluation.correctness.trials import Checked
from kernelgauge.evaluation.job import Job
from kernelgauge.evaluation.measurement.measure import Measurement
from kernelgauge.evaluation.progress import Account
from kernelgauge.evaluation.sides.reference import Reference
from kernelgauge.evaluation.sides.side import Side

# Of a tie that is hardly one: two pairs of processes more at a time, up to so many in all (decision 45).
_FURTHER = 2
_MOST = 7


class Rounds:
    """The timing of one job, round by round."""

    def __init__(self, job: Job, account: Account):
        self._account = account
        self._taken = 0
        self.plan = job.protocol.timing_on(job.device)
        self._due = self.plan.processes
        self.measurement = Measurement(self.plan, job.device)

    @property
    def left(self) -> int:
        return self._due - self._taken

    def take(self, reference: Reference, candidate: Side, checked: Checked) -> None:
        """Time the next round on these two sides, which nothing else has used but checks of the same job."""
        eager = {variant: _largest(trials) for variant, trials in checked.eager.items()}
        self._taken += 1
        reference.timed = True
        with self._account.stage("time"):
            self.measurement.round(reference, candidate, self._taken, eager)
        if self._taken == self._due:
            self._due = self._asked_again()

    def _asked_again(self) -> int:
        """How many rounds are due, now that as many are over as were."""
        plan, taken = self.plan, self._taken
        if taken == plan.processes:
            return max(plan.recheck_processes, taken) if self.measurement.needs_recheck() else taken
        further = taken < _MOST and self.measurement.needs_further_recheck()
        return min(taken + _FURTHER, _MOST) if further else taken


def _largest(trials: list[list[Distance]]) -> list[Distance]:
    """Of each output, the largest distance in any of these trials."""
    return [
        Distance(max(own.rms for own in each), max(own.worst for own in each)) for each in zip(*trials, strict=True)
    ]

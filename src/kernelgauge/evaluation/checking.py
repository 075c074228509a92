"""Check and time a candidate beside the reference: the processes of the last check take the first round."""

from __future__ import annotations

from contextlib import closing

from kernelgauge.evaluation.correctness.trials import Checked, WeightSync, check
from kernelgauge.evaluation.failures import Failure
from kernelgauge.evaluation.job import Job
from kernelgauge.evaluation.pair import KeptReference, Sides
from kernelgauge.evaluation.progress import Progress
from kernelgauge.evaluation.rounds import Rounds
from kernelgauge.evaluation.screen import Screen
from kernelgauge.evaluation.sides.prefork import PreforkPool
from kernelgauge.evaluation.sides.side import Side
from kernelgauge.sandbox.zygote_client import Zygote
from kernelgauge.schema import Outcome, Timing

# Of weights and inputs, until they tell the work from an answer without it.
_DRAWS = 3
# What a candidate that constructs in another order can look like where both sides draw from one seed.
_OTHER_WEIGHTS = (Outcome.WRONG_VALUE, Outcome.WRONG_PRECISION)


def other_weights(reference: Side, candidate: Side) -> bool:
    """Whether both have parameters of the same names and shapes, and other values in them.

    Only then can loading the reference's help. Where a side does not say, or calls move statistics on, the candidate
    gets its chance.
    """
    due, said = (side.digest_parameters(values=False) for side in (reference, candidate))
    if due and said and due != said:
        return False
    due, said = (side.digest_parameters(values=True) for side in (reference, candidate))
    return not due or due != said


class Checker:
    """Opens both sides as often as it takes to know whether a candidate is right, and how fast it is."""

    def __init__(self, zygote: Zygote, prefork_pool: PreforkPool, screen: Screen):
        self._prefork_pool, self._screen = prefork_pool, screen
        self._sides = Sides(zygote, prefork_pool)

    def check_and_time(self, job: Job, progress: Progress, timed: bool, kept: KeptReference) -> Timing | None:
        """Check what has not been checked yet, and time: the processes of the last check take the first round.

        Args:
            kept: what the evaluation before may have left, and what this one leaves.
        """
        rounds = Rounds(job, progress.account) if timed else None
        if progress.checked is None:
            self._check(job, progress, rounds, kept)
        while rounds is not None and rounds.left:
            assert progress.checked is not None
            asked = (job, progress.build_dir, progress.checked.weight_sync, progress.account, kept)
            with self._sides.opened(*asked) as (reference, candidate):
                self._settle(job, progress)
                rounds.take(reference, candidate, progress.checked)
        return rounds.measurement.result() if rounds is not None else None

    def check(self, job: Job, progress: Progress) -> Checked:
        """Is the candidate right? Other weights and inputs are drawn where these do not tell it from no work at all.

        Raises:
            Failure: it is not; what was seen is in `progress.checked`.
        """
        with closing(KeptReference(progress.account)) as kept:
            return self._check(job, progress, None, kept)

    def _check(self, job: Job, progress: Progress, rounds: Rounds | None, kept: KeptReference) -> Checked:
        for draw in range(_DRAWS):
            if draw:
                kept.close()
            checked = self._with_equal_weights(job, progress, rounds, kept)
            if not checked.blind:
                break
        progress.checked = checked
        if checked.failure is not None:
            raise checked.failure
        return checked

    def _with_equal_weights(
        self, job: Job, progress: Progress, rounds: Rounds | None, kept: KeptReference
    ) -> Checked:
        """Equal parameters by the seed, or else by state dict: some constructors draw in another order."""
        by_seed = self.once(job, progress, "seed", rounds, kept)
        if not by_seed.other_weights:
            return by_seed
        try:
            by_state = self.once(job, progress, "state_dict", rounds, kept)
            if by_state.failure is None:
                return by_state
        except Failure:
            if progress.checked is not None:  # it was right, and went wrong while it was timed
                raise
            # else names or shapes differ: this way says nothing about the candidate
        return by_seed

    def once(
        self,
        job: Job,
        progress: Progress,
        weight_sync: WeightSync,
        rounds: Rounds | None,
        kept: KeptReference,
    ) -> Checked:
        """Open both sides, screen the problem, check the candidate, and if it is right time a first round."""
        account, asked = progress.account, (job.problem, job.protocol, job.device, job.environment)
        with self._sides.opened(job, progress.build_dir, weight_sync, account, kept) as (reference, candidate):
            progress.not_varied = reference.not_varied
            known = self._screen.known(*asked)
            screening = self._screen.beside(job, reference) if known is None else None
            with account.watched("check"):
                probe = job.protocol.score.weak_problems == "excluded" and not known
                checked = check(reference, candidate, probe, screening)
                checked.weight_sync = weight_sync
                if weight_sync == "seed" and checked.failure and checked.failure.outcome in _OTHER_WEIGHTS:
                    checked.other_weights = other_weights(reference.side, candidate)
                candidate.buffers.let_go()
            if checked.failure is not None and checked.failure.outcome is Outcome.OUT_OF_MEMORY:
                account.ended_for_memory(candidate)
            if screening is not None:
                known = self._screen.seen(job, screening)
            reference.forget_shortcuts()
            progress.trivial_answers = known if known is not None else progress.trivial_answers
            if progress.trivial_answers:
                checked.blind = ()  # the problem does not count anyway: other draws would not change that
            if rounds is not None and checked.failure is None and not checked.blind:
                progress.checked = checked
                self._settle(job, progress)
                rounds.take(reference, candidate, checked)
            return checked

    def _settle(self, job: Job, progress: Progress) -> None:
        with progress.account.stage("open"):  # of the next evaluation, in truth: they are as many
            self._prefork_pool.settle(job.device)

"""Reference and candidate side by side, in fresh processes: opened together where both fit, closed in any case."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import torch

from kernelgauge.errors import MachineError, OutOfDeviceMemory, ProblemError, ReferenceTooLarge, without_locals
from kernelgauge.evaluation.correctness.trials import WeightSync
from kernelgauge.evaluation.failures import Failure
from kernelgauge.evaluation.job import Job
from kernelgauge.evaluation.progress import Account
from kernelgauge.evaluation.sides.prefork import PreforkPool
from kernelgauge.evaluation.sides.reference import Reference
from kernelgauge.evaluation.sides.side import Side
from kernelgauge.hardware.environment import device_index
from kernelgauge.sandbox.zygote_client import Zygote
from kernelgauge.schema import Outcome

# Candidates that see the same secret parameters. More would share little more, and a bad draw for ever.
_MOST_EVALUATIONS = 16
# Bytes of one call up to which the next candidate opens while the memory of the last is still being given back.
_SMALL = 2**32
_RESOURCES = re.compile(r"CUDA|CUBLAS|CUDNN|[Mm]emory|alloc")


class KeptReference:
    """The reference of one problem between one pair of processes and the next, and between candidates of that problem
    that are judged one after the other: its oracle goes on, and so do its parameters. Inputs are drawn anew."""

    def __init__(self, account: Account) -> None:
        self._account = account
        self._reference: Reference | None = None
        self.ending: list[Side] = []
        """Candidates that were ended and still hold memory."""
        self._from_another = False
        self._evaluations = 0
        self.more = False
        """Whether another candidate of the problem comes next."""

    def begin(self, job: Job, account: Account) -> bool:
        """Another evaluation begins; whether it goes on with what was kept, which is ended otherwise."""
        self._account = account
        self._evaluations += 1
        reference = self._reference
        if reference is not None and _serves(reference, job) and self._evaluations <= _MOST_EVALUATIONS:
            self._from_another = True
            return True
        self.close()
        self._evaluations, self._from_another = 1, False
        return False

    @property
    def inherited(self) -> bool:
        """Whether what is kept comes from another evaluation."""
        return self._reference is not None and self._from_another

    def take(self) -> Reference | None:
        """What was kept, which is the caller's from now on."""
        reference, self._reference = self._reference, None
        return reference

    def keep(self, reference: Reference) -> None:
        """Have it here for the next pair, for which its own side is made anew."""
        self._reference = reference

    def end(self, candidate: Side, reference: Reference) -> None:
        """End a candidate: with a GPU open that takes a tenth of a second, in which the next one may open."""
        candidate.end()
        self.ending.append(candidate)
        if not self.more or reference.bytes_per_call > _SMALL:
            self.close_ended()

    def close_ended(self) -> None:
        """Wait for candidates that were ended, and give their memory back."""
        while self.ending:
            self.ending.pop().close()

    def leave_room(self) -> None:
        """Somebody opens a reference of its own: keep this one only where the device has room for both."""
        self.close_ended()
        if self._reference is not None and self._reference.device != "cpu":
            free, total = torch.cuda.mem_get_info(device_index(self._reference.device))
            if 2 * free < total:
                self.close()

    def close(self) -> None:
        """End what was kept: whoever opens next draws other parameters."""
        self.close_ended()
        if (reference := self.take()) is not None:
            with self._account.stage("close"):
                reference.close()


def _for_memory(failure: Failure, beside_another: bool) -> bool:
    """Whether opening failed for want of memory; libraries say that in words of their own."""
    if failure.outcome is Outcome.OUT_OF_MEMORY:
        return True
    return beside_another and _RESOURCES.search(failure.reason) is not None


def _serves(reference: Reference, job: Job) -> bool:
    """Whether an evaluation can go on with a reference of another, under secrets that nobody has been told."""
    secret = job.protocol.inputs.seeds == job.protocol.parameters.seed == "secret"
    asked = (job.problem, job.protocol, job.device, job.plan, job.alone)
    there = (reference.problem, reference.protocol, reference.device, reference.plan, reference.frugal)
    return secret and asked == there


class Sides:
    """Opens the two sides of an evaluation."""

    def __init__(self, zygote: Zygote, prefork_pool: PreforkPool):
        self._zygote, self._prefork_pool = zygote, prefork_pool

    @contextlib.contextmanager
    def opened(
        self,
        job: Job,
        build_dir: Path | None,
        weight_sync: WeightSync,
        account: Account,
        kept: KeptReference,
    ) -> Iterator[tuple[Reference, Side]]:
        """Reference and candidate, each in fresh processes, ready for the first trial.

        Args:
            kept: where the same evaluation has kept its reference, and keeps this one.

        Raises:
            Failure: the candidate does not load, or takes the memory that the reference needs and had without it.
        """
        with contextlib.ExitStack() as stack:

            def open_both(together: bool) -> tuple[Reference, Side]:
                candidate = Side(
                    self._zygote,
                    job.source(build_dir),
                    job.device,
                    prefork_pool=self._prefork_pool,
                    plan=job.plan,
                )
                earlier = kept.take()
                reference = earlier or Reference(
                    self._zygote,
                    job.problem,
                    job.protocol,
                    job.device,
                    self._prefork_pool,
                    job.plan,
                    frugal=job.alone,
                )
                stack.push(lambda kind, error, trace: _close(account, reference, candidate, error, kept))
                open_reference = reference.renew if earlier else reference.open
                self._open(reference, candidate, weight_sync, together, open_reference, kept.more)
                return reference, candidate

            inherited, beside_another = kept.inherited, bool(kept.ending)
            # The memory of one that is ending is none of this evaluation's.
            with account.stage("open") if beside_another else account.watched("open"):
                try:
                    reference, candidate = open_both(together=weight_sync == "seed")
                except (ReferenceTooLarge, torch.OutOfMemoryError, Failure) as error:
                    if isinstance(error, Failure) and not _for_memory(error, beside_another):
                        raise
                    # One after the other they may fit, or else it is clear which of them does not.
                    without_locals(error)
                    stack.close()
                    kept.close()
                    self._prefork_pool.let_go(job.device)
                    try:
                        reference, candidate = open_both(together=False)
                    except torch.OutOfMemoryError as memory:
                        raise ReferenceTooLarge(str(memory).splitlines()[0]) from memory
            with account.stage("close"):
                kept.close_ended()
            try:
                yield reference, candidate
                if account.memory_use is not None:
                    account.memory_use.ask(reference.side, candidate)
            except (ReferenceTooLarge, torch.OutOfMemoryError) as error:
                reason = f"beside this candidate, the memory does not suffice for the reference: {error}"
                raise Failure(Outcome.OUT_OF_MEMORY, reason) from error
            except ProblemError as error:
                if not inherited:
                    raise
                # Another candidate may have done that to it: a fresh one will tell.
                raise MachineError(f"a reference kept from another evaluation: {error}") from error

    def _open(
        self,
        reference: Reference,
        candidate: Side,
        weight_sync: WeightSync,
        together: bool,
        open_reference: Callable[..., None],
        more: bool,
    ) -> None:
        """Both sides, up to their shared memory.

        Args:
            together: start the candidate at the same time as the reference, not after it.
            open_reference: `Reference.open`, or `renew`.
            more: candidates that follow may be refused sooner than a process has started the device for the next.
        """

        def open_candidate(ready: Reference) -> None:
            state = ready.state() if weight_sync == "state_dict" else None
            candidate.open(ready.init, ready.weight_seed, ready.randomise, ready.math, state, beside=ready.side)

        if together:
            candidate.start()
            open_reference(beside=open_candidate)
        else:
            open_reference()
            candidate.start()
            open_candidate(reference)
        if more:
            candidate.goes_on()
        self._prefork_pool.renew(reference.device)
        if reference.device == "cpu" and not candidate.looks:
            reference.notes.append(
                "a worker's memory cannot be read here: work left to the copy is charged, not refused"
            )
        try:
            candidate.attach(reference.master.size, reference.expected)
        except OutOfDeviceMemory as error:
            raise Failure(Outcome.OUT_OF_MEMORY, f"inputs and outputs: {error}") from error
        reference.clearing.judge(candidate)


def _close(
    account: Account,
    reference: Reference,
    candidate: Side,
    error: BaseException | None,
    kept: KeptReference,
) -> None:
    with account.stage("close"):
        if isinstance(error, Failure) and error.outcome is Outcome.OUT_OF_MEMORY:
            account.ended_for_memory(candidate)
        account.notes = list(dict.fromkeys([*account.notes, *reference.notes]))
        account.called(candidate.first_call_s)
        if hasattr(candidate, "process"):
            account.layers = candidate.process.layers
            account.printed(candidate.process.log())
        of_candidate = isinstance(error, Failure) and error.outcome is not Outcome.OUT_OF_MEMORY
        if reference.complete and reference.alive() and (error is None or of_candidate):
            kept.keep(reference)
            if reference.timed:
                reference.side.end()
            kept.end(candidate, reference)
        else:
            candidate.end()
            reference.end()
            candidate.close()
            reference.close()

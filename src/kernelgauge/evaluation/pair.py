"""Reference and candidate side by side, in fresh processes: opened together where both fit, closed in any case."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch

from kernelgauge.errors import OutOfDeviceMemory, ReferenceTooLarge, without_locals
from kernelgauge.evaluation.failures import Failure
from kernelgauge.evaluation.job import LONGEST_LOG, Job
from kernelgauge.evaluation.sides.prefork import Spares
from kernelgauge.evaluation.sides.reference import Reference
from kernelgauge.evaluation.sides.side import Side
from kernelgauge.sandbox.zygote_client import Zygote
from kernelgauge.schema import Outcome


class Sides:
    """Opens the two sides of an evaluation."""

    def __init__(self, zygote: Zygote, spares: Spares):
        self._zygote, self._spares = zygote, spares

    @contextlib.contextmanager
    def opened(self, job: Job) -> Iterator[tuple[Reference, Side]]:
        """Reference and candidate, each in fresh processes, ready for the first trial.

        Raises:
            Failure: the candidate does not load, or takes the memory that the reference needs and had without it.
        """
        with contextlib.ExitStack() as stack:
            with job.watched("open"):
                try:
                    reference, candidate = self._opened(job, stack, together=job.route == "seed")
                except (ReferenceTooLarge, torch.OutOfMemoryError, Failure) as error:
                    if isinstance(error, Failure) and error.outcome is not Outcome.OUT_OF_MEMORY:
                        raise
                    # One after the other they may fit, or else it is clear which of them does not.
                    without_locals(error)
                    stack.close()
                    self._spares.let_go(job.device)
                    reference, candidate = self._opened_alone(job, stack)
            try:
                yield reference, candidate
                if job.memory_use is not None:
                    job.memory_use.ask(reference.side, candidate)
            except (ReferenceTooLarge, torch.OutOfMemoryError) as error:
                reason = f"beside this candidate, the memory does not suffice for the reference: {error}"
                raise Failure(Outcome.OUT_OF_MEMORY, reason) from error

    def _opened_alone(self, job: Job, stack: contextlib.ExitStack) -> tuple[Reference, Side]:
        """Both sides, the reference first; raises ReferenceTooLarge if it does not fit even so."""
        try:
            return self._opened(job, stack, together=False)
        except torch.OutOfMemoryError as error:
            raise ReferenceTooLarge(str(error).splitlines()[0]) from error

    def _opened(self, job: Job, stack: contextlib.ExitStack, together: bool) -> tuple[Reference, Side]:
        """Both sides, closed with the stack.

        Args:
            together: start the candidate at the same time as the reference, not after it.
        """
        candidate = Side(self._zygote, job.source, job.device, spares=self._spares)
        reference = Reference(self._zygote, job.problem, job.protocol, job.device, self._spares)
        stack.push(lambda kind, error, trace: self._close(job, reference, candidate, error))

        def open_candidate(ready: Reference) -> None:
            state = ready.state() if job.route == "state_dict" else None
            candidate.open(ready.init, ready.weight_seed, ready.randomise, ready.math, state)

        if together:
            candidate.start()
            reference.open(beside=open_candidate)
        else:
            reference.open()
            candidate.start()
            open_candidate(reference)
        self._spares.renew(job.device)
        if job.device == "cpu" and not candidate.looks:
            reference.notes.append(
                "a worker's memory cannot be read here: work left to the copy is charged, not refused"
            )
        try:
            candidate.attach(reference.master.size, reference.expected)
        except OutOfDeviceMemory as error:
            raise Failure(Outcome.OUT_OF_MEMORY, f"inputs and outputs: {error}") from error
        return reference, candidate

    @staticmethod
    def _close(job: Job, reference: Reference, candidate: Side, error: BaseException | None) -> None:
        with job.stage("close"):
            if isinstance(error, Failure) and error.outcome is Outcome.OUT_OF_MEMORY and job.memory_use:
                job.memory_use.end(candidate)
            job.notes = list(dict.fromkeys([*job.notes, *reference.notes]))
            if candidate.first_call_s is not None:
                job.first_call_s = max(job.first_call_s or 0.0, round(candidate.first_call_s, 3))
            if hasattr(candidate, "process"):
                job.walls = candidate.process.walls
                job.log = (job.log + candidate.process.log())[-LONGEST_LOG:]
            candidate.end()
            reference.end()
            candidate.close()
            reference.close()

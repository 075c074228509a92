"""What becomes of what goes wrong: a candidate's fault is a fact of its evaluation, the machine's is tried again."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TypeVar

import torch

from kernelgauge.checks.stand_alone import explained
from kernelgauge.errors import MachineError, without_locals
from kernelgauge.evaluation.failures import Failure, WorkerKilled
from kernelgauge.evaluation.job import Job
from kernelgauge.evaluation.progress import Progress
from kernelgauge.schema import Outcome

T = TypeVar("T")

_TRIES = 2


@contextlib.contextmanager
def recording(job: Job, progress: Progress) -> Iterator[None]:
    """Turn a candidate's failure into a fact; the parent's own arithmetic keeps to one core meanwhile."""
    try:
        with one_thread():
            yield
    except Failure as failure:
        failure.reason = explained(failure.reason, job.problem.source, job.protocol.name)
        progress.failure = without_locals(failure)
        progress.account.printed(failure.log, apart="\n")


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Keep the parent's own arithmetic on one core: a second thread would wait for the workers' idle ones to yield.

    Restored afterwards, since this is the caller's process.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def retried(attempt: Callable[[], T]) -> T:
    """Run once more after a machine failure.

    Raises:
        Failure: the worker was killed a second time. A candidate can do that to itself; were it an error of the
            machine, it could keep itself out of every score.
        MachineError: anything else of ours went wrong twice.
    """
    for left in reversed(range(_TRIES)):
        try:
            return attempt()
        except WorkerKilled as error:
            if not left:
                reason = f"{error}, and again when it was repeated"
                raise Failure(Outcome.RUNTIME_ERROR, reason) from error
        except MachineError:
            if not left:
                raise
        except (OSError, MemoryError, torch.OutOfMemoryError) as error:
            if not left:
                raise MachineError(f"this machine failed twice: {error}") from error
    raise AssertionError("the last attempt returns or raises")

"""Kernel languages that are not here: a text that was recognised as one of them is a candidate that cannot be loaded.

Who names a language asks for what a machine may lack, and is told so (`BackendMissing`). Who writes a text chooses
its language by an import: were that the machine's failure, no policy need ever earn less than nothing.
"""

from __future__ import annotations

from collections.abc import Collection

from kernelgauge.backends import registry
from kernelgauge.config import Protocol
from kernelgauge.evaluation.failures import Failure
from kernelgauge.evaluation.job import Job
from kernelgauge.evaluation.progress import Progress, recorded
from kernelgauge.sandbox.zygote_client import worker_device
from kernelgauge.schema import Candidate, Evaluation, Outcome, Problem
from kernelgauge.session.session import Session


def languages_on(device: str) -> tuple[str, ...]:
    """Short names of the backends whose candidates can be judged on this device here."""
    where = worker_device(device)
    return tuple(name for name in registry.names() if registry.backend_named(name).missing(where) is None)


def without_language(
    session: Session,
    problem: Problem,
    candidate: Candidate,
    protocol: Protocol,
    device: str,
    languages: Collection[str],
) -> Evaluation | None:
    """The verdict on a candidate whose language is not here; None if it is.

    Args:
        languages: those that were here when the judge began: what has gone since is the machine's failure.
    """
    if candidate.backend in languages:
        return None
    why = registry.backend_named(candidate.backend).missing(worker_device(device)) or "it was not when judging began"
    reason = (
        f"load: the file is written for {candidate.backend}, which is not available here ({why}); available are "
        f"{', '.join(languages)}"
    )
    known = session.supervisor.screen.known(problem, protocol, device, session.environment)
    progress = Progress(failure=Failure(Outcome.LOAD_FAILED, reason), trivial_answers=known)
    return recorded(Job(problem, candidate, protocol, device, session.environment), progress)

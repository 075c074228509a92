"""A candidate on its way to its verdict, and which candidates share one."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

from kernelgauge.schema import LARGEST_CANDIDATE_MB, Candidate, Evaluation, NoCandidate, Problem, TooLarge

if TYPE_CHECKING:
    from kernelgauge.execution.local import Done

Verdict = Evaluation | NoCandidate | TooLarge


@dataclass
class PendingEvaluation:
    """A candidate handed in: one of perhaps several that wait for the same verdict."""

    problem: Problem
    candidate: Candidate
    future: Future[Done]
    final: bool
    """Whether it is its sample's answer, rather than one of several attempts."""
    key: tuple[str, str]
    """Equal for all that wait for one verdict."""


def key_of(problem: Problem, candidate: Candidate, fresh: bool) -> tuple[str, str]:
    """Under which a verdict is known; `fresh`: to one sample only, that is judged for itself."""
    return problem.digest, f"{candidate.digest} of sample {candidate.sample}" if fresh else candidate.digest


def unfit(candidate: Candidate) -> str | None:
    """Why this cannot be handed in at all; None if it can."""
    try:
        size = len(candidate.source.encode())
    except UnicodeEncodeError as error:
        return f"the candidate is not text: {error}"
    return f"the candidate is larger than {LARGEST_CANDIDATE_MB} MB" if size > LARGEST_CANDIDATE_MB << 20 else None


def of_sample(record: Evaluation, candidate: Candidate) -> Evaluation:
    """The verdict of a text as that of this sample with the same text, whoever gave it."""
    same = record.contestant == candidate.contestant
    if record.sample == candidate.sample and same:
        return record
    note = f"the same text as sample {record.sample}{'' if same else f' of {record.contestant}'}, judged once"
    notes = record.notes if note in record.notes else (*record.notes, note)
    changes = {"id": uuid4().hex, "sample": candidate.sample, "contestant": candidate.contestant, "notes": notes}
    return record.model_copy(update=changes)

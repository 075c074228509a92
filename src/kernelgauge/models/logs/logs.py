"""A log of Inspect read as a run: the verdicts in its scores are the records that a run folder would hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Self, TypeVar

from inspect_ai.log import EvalLog, EvalSample, read_eval_log
from pydantic import ValidationError

from kernelgauge.config import first_complaint
from kernelgauge.errors import StoreError
from kernelgauge.models.asking.solver import ATTEMPTS
from kernelgauge.models.logs.header import header_of
from kernelgauge.report.runs import StoredRun
from kernelgauge.schema import (
    Attempt,
    AttemptRecord,
    Candidate,
    Evaluation,
    Judgement,
    NoCandidate,
    Record,
    RunHeader,
    Spent,
    TooLarge,
    judgement,
)
from kernelgauge.schema.earlier import to_format_2
from kernelgauge.store import codec

R = TypeVar("R", bound=Record)

_FIELDS = frozenset(Attempt.model_fields)


class LoggedRun(StoredRun):
    """The verdicts of one log, from `read`; sources are the answers that were judged."""

    def __init__(self, path: Path, header: RunHeader, records: list[Record], sources: dict[str, str], spent: Spent):
        self.path = path
        self._spent = spent
        self.header = header
        self.torn: str | None = None
        self._records = records
        self._sources = sources

    @classmethod
    def read(cls, path: Path) -> Self:
        """The records of a log that kernelgauge's scorer wrote.

        Raises StoreError if it cannot be read, or holds no verdict.
        """
        try:
            log = read_eval_log(str(path))
        except Exception as error:  # boundary: what Inspect raises for a file that is no log is not documented
            raise StoreError(f"{path} is no log of Inspect that can be read: {error}") from error
        records: list[Record] = []
        sources: dict[str, str] = {}
        for sample in log.samples or []:
            records += _attempts(sample, log, path)
            found = _verdict(sample, path)
            if found is None:
                continue
            record, answer = found
            records.append(record)
            if isinstance(record, Evaluation) and answer is not None:
                candidate = Candidate(problem=record.problem, source=answer, backend=record.backend)
                sources[candidate.digest] = answer
        header = header_of(log, [record for record in records if isinstance(record, Evaluation)])
        if header is None:
            lacks = "nobody gave a candidate" if records else "its samples have no score with one"
            raise StoreError(f"{path} holds no verdict of kernelgauge: {lacks}")
        spent = sum((_spent(sample) for sample in log.samples or []), Spent())
        run = cls(path, header, records, sources, spent)
        if log.status != "success":
            run.torn = f"the log {path.name} is of a task that was {log.status}: samples may be missing"
        return run

    def evaluations(self) -> list[Evaluation]:
        """The verdict of every sample that was judged."""
        return self._of(Evaluation)

    def skips(self) -> list[NoCandidate]:
        """Every sample without a candidate."""
        return self._of(NoCandidate)

    def too_large(self) -> list[TooLarge]:
        """Every problem that did not fit the device's memory, once."""
        return list({(each.problem, each.reason): each for each in reversed(self._of(TooLarge))}.values())[::-1]

    def attempts(self) -> list[AttemptRecord]:
        """Every call to the contestant, and what became of it."""
        return self._of(AttemptRecord)

    def judgements(self) -> list[Judgement]:
        """When and how long the candidates of attempts were judged."""
        return [judgement(each.attempt.evaluation) for each in self.attempts() if each.attempt.evaluation]

    def spent(self) -> Spent:
        """What all samples cost, as the solver said."""
        return self._spent

    def source(self, digest: str) -> str:
        """The candidate's source. Raises StoreError if the log has not kept it."""
        if digest not in self._sources:
            raise StoreError(f"{self.path} holds no candidate {digest}")
        return self._sources[digest]

    def _of(self, kind: type[R]) -> list[R]:
        return [record for record in self._records if isinstance(record, kind)]


def _verdict(sample: EvalSample, path: Path) -> tuple[Record, str | None] | None:
    """The last verdict about a sample, which may have been scored again, and the answer that it is about."""
    for score in reversed((sample.scores or {}).values()):
        said = (score.metadata or {}).get("verdict")
        if isinstance(said, dict):
            kind = Evaluation if "outcome" in said else TooLarge if "needed_gb" in said else NoCandidate
            where = f"{path}, sample {sample.id}, epoch {sample.epoch}"
            return codec.decode(json.dumps(_infinite(said)), kind, where), score.answer
    return None


def _attempts(sample: EvalSample, log: EvalLog, path: Path) -> list[AttemptRecord]:
    """What a sample was tried with. Raises StoreError if it holds something else."""
    said = sample.store.get(ATTEMPTS) or []
    metadata = sample.metadata or {}
    last = sample.completed_at or log.eval.created
    try:
        kept = [{name: value for name, value in each.items() if name in _FIELDS} for each in said]
        attempts = [Attempt.model_validate(to_format_2(each, Attempt)) for each in kept]
        return [
            AttemptRecord(
                created=attempt.evaluation.created if attempt.evaluation else last,  # type: ignore[arg-type]  # ISO
                problem=metadata.get("problem") or str(sample.id),
                problem_digest=metadata.get("problem_digest", ""),
                sample=sample.epoch - 1,
                number=number,
                attempt=attempt,
            )
            for number, attempt in enumerate(attempts)
        ]
    except (ValidationError, AttributeError) as error:
        what = first_complaint(error) if isinstance(error, ValidationError) else error
        raise StoreError(f"{path}, sample {sample.id}, epoch {sample.epoch}: not our attempts: {what}") from None


def _spent(sample: EvalSample) -> Spent:
    return Spent.model_validate(sample.store.get("spent") or {})


def _infinite(said: dict[str, Any]) -> dict[str, Any]:
    """Errors that were infinite: Inspect writes null for what JSON has no number for."""
    trials = [
        {name: "Infinity" if value is None and name in ("error", "worst") else value for name, value in trial.items()}
        for trial in said.get("trials", ())
    ]
    return {**said, "trials": trials} if trials else said

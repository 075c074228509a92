"""A run folder: created or resumed by one process that appends, read by any number of others."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from kernelgauge.errors import StoreError
from kernelgauge.schema import (
    AttemptRecord,
    Candidate,
    Evaluation,
    Judgement,
    NoCandidate,
    PaidAttempt,
    Record,
    RunHeader,
    Spent,
    TooLarge,
    suite_of,
)
from kernelgauge.store import codec
from kernelgauge.store.disk import guarded, make_folder, read_text, write_whole
from kernelgauge.store.journal import Journal
from kernelgauge.store.lock import FolderLock

R = TypeVar("R", bound=Record)

SAME_ON_RESUME = (
    "contestant",
    "sizes",
    "device",
    "protocol",
    "protocol_digest",
    "kernel_policy",
    "gpu_memory_gb",
    "generation",
)
"""Header fields that must not differ when a run goes on; `problems` and `samples` may grow."""

Answer = tuple[str, int]
"""Problem and sample: what a contestant was asked for once."""


def latest(evaluations: Iterable[Evaluation]) -> list[Evaluation]:
    """The record that stands for every (problem, sample), the last one, in the order of their first records."""
    return list({(e.problem, e.sample): e for e in evaluations}.values())


class Run:
    """One run folder, from `create`, `open`, `create_or_resume` (to append) or `read` (to read only)."""

    torn: str | None
    """One sentence if lines were found unfinished, because their writer was killed; None otherwise."""

    def __init__(self, path: Path, header: RunHeader, lock: FolderLock | None) -> None:
        self.path = path
        self.header = header
        self.torn = None
        self._lock = lock
        self._evaluations = Journal(path / "evaluations.jsonl")
        self._skips = Journal(path / "no_candidates.jsonl")
        self._too_large = Journal(path / "too_large.jsonl")
        self._attempts = Journal(path / "attempts.jsonl")
        self._writing = threading.Lock()
        self._standing: dict[Answer, str | None] = {}
        self._look_for_tears()
        if lock:
            self._standing = self._answers()

    @classmethod
    def create(cls, path: Path | str, header: RunHeader) -> Self:
        """A new run in a folder that is new or empty. Raises StoreError."""
        path = Path(path)
        make_folder(path)
        _check_empty(path)
        with _locked(path) as lock:
            _check_empty(path)
            _write_header(path, header)
            return cls(path, header, lock)

    @classmethod
    def open(cls, path: Path | str) -> Self:
        """An existing run, to append to. A torn last line is moved to its own file. Raises StoreError."""
        path = Path(path)
        _read_header(path)
        with _locked(path) as lock:
            return cls(path, _read_header(path), lock)

    @classmethod
    def read(cls, path: Path | str) -> Self:
        """An existing run, to read only: takes no lock, changes nothing. Raises StoreError."""
        path = Path(path)
        return cls(path, _read_header(path), None)

    @classmethod
    def create_or_resume(cls, path: Path | str, header: RunHeader) -> Self:
        """The run at `path` if it asked the same question, extended by what `header` adds; else a new one.

        Raises StoreError naming the first field that differs, or if the folder holds something else.
        """
        path = Path(path)
        with guarded(path):
            new = not (path / "run.json").exists()
        if new:
            return cls.create(path, header)
        run = cls.open(path)
        try:
            run.extend(header)
        except BaseException:
            run.close()
            raise
        return run

    def extend(self, asked: RunHeader) -> None:
        """Go on with the same question and more problems or samples. Raises StoreError if it is another question."""
        known = _with_model_args(self.header, asked)
        for field in SAME_ON_RESUME:
            ours, theirs = getattr(known, field), getattr(asked, field)
            if ours != theirs:
                if isinstance(ours, Record) and isinstance(theirs, Record):
                    field = next(name for name, value in ours if getattr(theirs, name) != value)
                    ours, theirs = getattr(ours, field), getattr(theirs, field)
                raise StoreError(f"{self.path} is a run with {field} {ours!r}, not {theirs!r}; choose another folder")
        problems = tuple(dict.fromkeys((*self.header.problems, *asked.problems)))
        samples = max(self.header.samples, asked.samples)
        origin = asked.origin or known.origin
        grown = known.model_copy(update={"problems": problems, "samples": samples, "origin": origin})
        if grown != self.header:
            _write_header(self.path, grown)
            self.header = grown

    def append(self, evaluation: Evaluation, candidate: Candidate) -> None:
        """Store the source, then the record, both durable on return. Threads may call this.

        Raises StoreError if the disk is full or the record does not belong to this run or candidate.
        """
        if evaluation.candidate_digest != candidate.digest:
            raise StoreError(f"the record of {evaluation.problem} belongs to another candidate's source")
        # A problem from outside the built-in suite may have its own size only, whatever the others are run at.
        outside = evaluation.level is None or suite_of(evaluation.problem) is not None
        own_size = outside and evaluation.sizes == "full"
        for field in ("protocol_digest",) if own_size else ("sizes", "protocol_digest"):
            ours, theirs = getattr(self.header, field), getattr(evaluation, field)
            if ours != theirs:
                raise StoreError(f"{self.path} holds {field} {ours!r}, and this record has {theirs!r}")
        with self._writing:
            self._check_writable()
            self._keep_source(candidate)
            self._evaluations.append(codec.encode(evaluation))
            self._standing[evaluation.problem, evaluation.sample] = evaluation.candidate_digest

    def append_skip(self, skip: NoCandidate) -> None:
        """Store that the contestant had no answer. Raises StoreError."""
        with self._writing:
            self._check_writable()
            self._skips.append(codec.encode(skip))
            self._standing.setdefault((skip.problem, skip.sample), None)

    def append_too_large(self, found: TooLarge) -> None:
        """Store that a problem does not fit, unless that is known; it is not done all the same. Raises StoreError."""
        with self._writing:
            self._check_writable()
            if (found.problem, found.reason) not in {(known.problem, known.reason) for known in self.too_large()}:
                self._too_large.append(codec.encode(found))

    def append_attempt(self, record: AttemptRecord) -> None:
        """Store a call as far as it is known; a later record of the same call counts instead. Raises StoreError."""
        with self._writing:
            self._check_writable()
            self._attempts.append(codec.encode(record))

    def evaluations(self) -> list[Evaluation]:
        """Every finished record, oldest first. Raises StoreError naming file and line of a malformed one."""
        return _decoded(self._evaluations, Evaluation)

    def latest(self) -> list[Evaluation]:
        """`evaluations` without those that a later record of the same problem and sample replaced."""
        return latest(self.evaluations())

    def skips(self) -> list[NoCandidate]:
        """Every time the contestant had no answer, oldest first. Raises StoreError."""
        return _decoded(self._skips, NoCandidate)

    def too_large(self) -> list[TooLarge]:
        """Every problem that did not fit the device's memory, oldest first. Raises StoreError."""
        return _decoded(self._too_large, TooLarge)

    def attempts(self) -> list[AttemptRecord]:
        """Every call to a contestant as it was known last, in the order in which answers came. Raises StoreError."""
        found = _decoded(self._attempts, AttemptRecord)
        return list({(each.problem, each.sample, each.number): each for each in found}.values())

    def spent(self) -> Spent:
        """What all calls to a contestant cost, told without their verdicts. Raises StoreError."""
        found = _decoded(self._attempts, PaidAttempt)
        latest = {(each.problem, each.sample, each.number): each.attempt.spent for each in found}
        return sum(latest.values(), Spent())

    def judgements(self) -> list[Judgement]:
        """When and how long the candidates of attempts were judged, once for each time. Raises StoreError.

        An attempt may have been judged anew; its first judgement has taken its time all the same.
        """
        found = (each.attempt.evaluation for each in _decoded(self._attempts, PaidAttempt))
        return list({(each.candidate_digest, each.created): each for each in found if each}.values())

    def done(self) -> set[Answer]:
        """Every (problem, sample) that has a record or was skipped."""
        return set(self.standing())

    def standing(self) -> dict[Answer, str | None]:
        """The same, each with the digest of the candidate whose record stands; None where there is a skip only."""
        return dict(self._standing) if self._lock else self._answers()

    def restore(self, evaluation: Evaluation) -> None:
        """Let a record of this run stand again that a later one had replaced. Raises StoreError."""
        with self._writing:
            self._check_writable()
            self._evaluations.append(codec.encode(evaluation))
            self._standing[evaluation.problem, evaluation.sample] = evaluation.candidate_digest

    def source(self, digest: str) -> str:
        """The candidate's source. Raises StoreError if it is not stored here."""
        return read_text(self._source_path(digest))

    def close(self) -> None:
        """Give the lock back. Closing twice does nothing."""
        self._evaluations.close()
        self._skips.close()
        self._too_large.close()
        self._attempts.close()
        if self._lock:
            self._lock.release()
            self._lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _answers(self) -> dict[Answer, str | None]:
        without: dict[Answer, str | None] = {(skip.problem, skip.sample): None for skip in self.skips()}
        return without | {(e.problem, e.sample): e.candidate_digest for e in self.evaluations()}

    def _look_for_tears(self) -> None:
        found = []
        for journal in (self._evaluations, self._skips, self._too_large, self._attempts):
            if self._lock and (aside := journal.mend()):
                found.append(f"the last line of {journal.path} was unfinished and was moved to {aside.name}")
            elif not self._lock and (tail := journal.torn()):
                found.append(f"the last line of {journal.path} is unfinished ({len(tail)} bytes) and was left out")
        self.torn = "; ".join(found) or None

    def _check_writable(self) -> None:
        if not self._lock:
            raise StoreError(f"{self.path} was opened for reading or is closed; open it with Run.open to append")

    def _keep_source(self, candidate: Candidate) -> None:
        path = self._source_path(candidate.digest)
        content = candidate.source.encode()
        with guarded(path):
            known = path.exists() and path.read_bytes() == content
        if not known:
            make_folder(path.parent)
            write_whole(path, content)

    def _source_path(self, digest: str) -> Path:
        # A record may come from a stranger's folder: its digest must not name a file elsewhere.
        if not re.fullmatch(r"[0-9a-f]{1,64}", digest):
            raise StoreError(f"{digest!r} is not the digest of a candidate")
        return self.path / "candidates" / f"{digest}.py"


@contextmanager
def _locked(path: Path) -> Iterator[FolderLock]:
    """A lock, given back if what follows fails: a folder that turns out unusable must not stay locked."""
    lock = FolderLock(path)
    try:
        yield lock
    except BaseException:
        lock.release()
        raise


def _decoded(journal: Journal, kind: type[R]) -> list[R]:
    return [codec.decode(text, kind, f"{journal.path}, line {number}") for number, text in journal.lines()]


def _with_model_args(header: RunHeader, asked: RunHeader) -> RunHeader:
    """A header from before the model's arguments were kept goes on with those that it is given now."""
    if header.generation is None or asked.generation is None or header.generation.model_args is not None:
        return header
    told = header.generation.model_copy(update={"model_args": asked.generation.model_args})
    return header.model_copy(update={"generation": told})


def _check_empty(path: Path) -> None:
    """Leftovers of a creation that was killed (`lock`, a hidden part file) do not count."""
    with guarded(path):
        names = sorted(entry.name for entry in path.iterdir())
    if "run.json" in names:
        raise StoreError(f"{path} already holds a run; resume it, or choose another folder")
    others = [name for name in names if name != "lock" and not name.endswith(".part")]
    if others:
        raise StoreError(f"{path} is not empty and not a run folder (it holds {others[0]}); choose another folder")


def _write_header(path: Path, header: RunHeader) -> None:
    write_whole(path / "run.json", header.model_dump_json(indent=2).encode() + b"\n")


def _read_header(path: Path) -> RunHeader:
    file = path / "run.json"
    with guarded(path):
        if not path.exists():
            raise StoreError(f"there is no run at {path}")
        if not path.is_dir():
            raise StoreError(f"{path} is a file; a run is a folder")
        if not file.exists():
            raise StoreError(f"{path} is not a run folder: it has no run.json")
    return codec.decode(read_text(file), RunHeader, str(file))

"""A folder of other people's candidates with the verdicts that they were given, as a contestant.

Beside each `X.py` lies `X.json`, see `schema.Elsewhere`. Files are named after problems as in any folder of
candidates (`generation.folder`), or their JSON says `"problem": "1/23"`; several may answer one problem.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from kernelgauge.backends.registry import detect
from kernelgauge.config import first_complaint
from kernelgauge.errors import CandidateError, KernelgaugeError, UsageError
from kernelgauge.generation.folder import meant_by, read_source
from kernelgauge.problems.catalogue import resolve
from kernelgauge.schema import Candidate, Elsewhere, NoCandidate, Problem, Record

_LARGEST_JSON = 1 << 20


class Unusable(Record):
    """A file that cannot be replayed."""

    file: str
    reason: str
    """One sentence that names it."""


@dataclass(frozen=True)
class Foreign:
    """One candidate and what was said of it."""

    file: str
    """Relative to its folder."""
    problem: str
    sample: int | None
    """As its name says; None: any."""
    source: str
    backend: str
    said: Elsewhere

    @property
    def digest(self) -> str:
        return Candidate(problem=self.problem, source=self.source, backend=self.backend).digest


def read_folder(
    folder: Path, backend: str | None = None, suite: str | None = None
) -> tuple[list[Foreign], list[Unusable]]:
    """All candidates of a folder, at any depth, and the files that are none.

    Args:
        backend: kernel language of all; default: recognised from each text.
        suite: the imported suite whose problems they answer; default: the built-in one.

    Raises UsageError if there is no such folder, or no Python file in it.
    """
    if not folder.is_dir():
        raise UsageError(f"folder of candidates {folder} does not exist or is not a folder")
    files = sorted(folder.rglob("*.py"))
    if not files:
        raise UsageError(f"there is no candidate in {folder}: it wants X.py files with an X.json beside each")
    found, unusable = [], []
    for file in files:
        shown = file.relative_to(folder).as_posix()
        try:
            found.append(_read(file, shown, backend, suite))
        except KernelgaugeError as error:
            unusable.append(Unusable(file=shown, reason=str(error)))
    with_text = {file.with_suffix(".json") for file in files}
    for lonely in sorted(path for path in folder.rglob("*.json") if path not in with_text):
        shown = lonely.relative_to(folder).as_posix()
        unusable.append(Unusable(file=shown, reason=f"{shown} has no {lonely.with_suffix('.py').name} beside it"))
    return found, unusable


class Foreigners:
    """A contestant whose answers are these candidates.

    Args:
        held: sample number of every text that was judged before, by problem and digest: it keeps it.
    """

    def __init__(self, folder: Path, candidates: Sequence[Foreign], held: Mapping[tuple[str, str], int]):
        self.path = folder
        by_problem: dict[str, list[Foreign]] = {}
        for each in candidates:
            by_problem.setdefault(each.problem, []).append(each)
        self.answers = {
            (problem, sample): each
            for problem, those in by_problem.items()
            for sample, each in _allotted(those, held).items()
        }

    @property
    def name(self) -> str:
        return f"folder:{self.path.resolve().name}"

    @property
    def origin(self) -> str:
        """The folder itself, which its last name does not say."""
        return str(self.path.resolve())

    def samples(self, problem: str) -> Sequence[int]:
        """Sample numbers of the candidates for this problem."""
        return sorted(sample for key, sample in self.answers if key == problem)

    def digest(self, problem: str, sample: int) -> str | None:
        """Of the candidate's text; None where there is none."""
        found = self.answers.get((problem, sample))
        return found.digest if found else None

    def complete(self, problem: Problem, sample: int, device: str) -> Candidate | NoCandidate:
        """The candidate, with what was said of it."""
        found = self.answers[problem.key, sample]
        return Candidate(
            problem=problem.key,
            source=found.source,
            backend=found.backend,
            contestant=self.name,
            sample=sample,
            origin=str(self.path / found.file),
            elsewhere=found.said,
        )


def _allotted(candidates: Sequence[Foreign], held: Mapping[tuple[str, str], int]) -> dict[int, Foreign]:
    """A number for each: that of the same text before, that in its name, or the next one that is free."""
    taken: dict[int, Foreign] = {}
    rest = []
    for each in candidates:
        wanted = held.get((each.problem, each.digest), each.sample)
        if wanted is None or wanted in taken:
            rest.append(each)
        else:
            taken[wanted] = each
    number = 0
    for each in rest:
        while number in taken:
            number += 1
        taken[number] = each
    return taken


def _read(file: Path, shown: str, backend: str | None, suite: str | None) -> Foreign:
    problem, said = _verdict(file.with_suffix(".json"), shown)
    meant = meant_by(shown)
    if problem is None and meant is None:
        raise CandidateError(
            f'{shown} is not named after a problem: call it 1_23_NAME.py, or say "problem": "1/23" in its JSON'
        )
    try:
        key = resolve(problem or meant[0], suite)  # type: ignore[index]
    except UsageError as error:
        raise CandidateError(f"{shown}: {error}") from error
    source = read_source(file)
    sample = meant[1] if meant and problem is None else None
    return Foreign(shown, key, sample, source, backend or detect(source), said)


def _verdict(path: Path, shown: str) -> tuple[str | None, Elsewhere]:
    """The problem that a JSON names, None if it names none, and the verdict. Raises CandidateError."""
    called = str(Path(shown).with_suffix(".json"))
    if not path.is_file():
        raise CandidateError(f"{shown} has no {path.name} beside it that says how it was judged")
    try:
        if path.stat().st_size > _LARGEST_JSON:
            raise CandidateError(f"{called} is larger than {_LARGEST_JSON >> 20} MB")
        content = json.loads(path.read_bytes())
    except OSError as error:
        raise CandidateError(f"{called} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise CandidateError(f"{called} is not JSON: {error}") from error
    if not isinstance(content, dict):
        raise CandidateError(f"{called} is not an object of JSON")
    problem = content.pop("problem", None)
    if not isinstance(problem, str | None):
        raise CandidateError(f"{called}: problem is a name such as 1/23")
    try:
        return problem, Elsewhere.model_validate(content, strict=True)
    except ValidationError as error:
        complaint = first_complaint(error).replace("Value error, ", "")
        raise CandidateError(f"{called} is malformed: {complaint}") from error

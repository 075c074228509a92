"""A contestant whose files are named after the problems that a model was cut into: `norm.py` answers `norm.py`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kernelgauge.backends.registry import detect
from kernelgauge.errors import CandidateError, UsageError
from kernelgauge.generation.folder import read_source
from kernelgauge.schema import Candidate, NoCandidate, Problem


class NamedFolder:
    """Candidates for problems that are files, from a folder with files of the same names.

    Raises:
        UsageError: there is no such folder.
    """

    def __init__(self, path: Path) -> None:
        if not path.is_dir():
            raise UsageError(f"candidate folder {path} does not exist or is not a folder")
        self.path = path

    @property
    def name(self) -> str:
        return f"folder:{self.path.name}"

    @property
    def origin(self) -> str:
        """The folder itself, which its last name does not say."""
        return str(self.path.resolve())

    def samples(self, problem: str) -> Sequence[int]:
        return (0,)

    def digest(self, problem: str, sample: int) -> str | None:
        """Of the file as it is now; None where it is not there or cannot be read."""
        try:
            return self._candidate(problem).digest
        except CandidateError:
            return None

    def complete(self, problem: Problem, sample: int, device: str) -> Candidate | NoCandidate:
        """The file's text as a candidate; a file that is not there is no candidate."""
        try:
            return self._candidate(problem.key)
        except CandidateError as error:
            return NoCandidate(problem=problem.key, contestant=self.name, sample=sample, reason=str(error))

    def _candidate(self, problem: str) -> Candidate:
        file = self.path / Path(problem).name
        source = read_source(file)
        return Candidate(
            problem=problem, source=source, backend=detect(source), contestant=self.name, origin=str(file)
        )

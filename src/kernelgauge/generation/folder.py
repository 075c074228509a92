"""A folder of candidates as a contestant: answers that somebody already wrote.

Understood names, below the folder: `1_23.py`, `1_23_softmax.py`, `1_23_softmax_sample_2.py`, `level1/23_softmax.py`,
and KernelBench's `level_1_problem_23_sample_0_kernel.py`. The problems meant are those of one suite.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from kernelgauge.backends.registry import detect
from kernelgauge.errors import CandidateError, UsageError
from kernelgauge.schema import LARGEST_CANDIDATE_MB, Candidate, NoCandidate, Problem

_TAIL = r"(?:_(?!sample_\d|kernel\b)\w+?)?(?:_sample_(?P<sample>\d+))?(?:_kernel)?\.py"
_FLAT = re.compile(r"(?:level_?)?(?P<level>\d+)_(?:problem_)?(?P<number>\d+)" + _TAIL)
_NESTED = re.compile(r"level_?(?P<level>\d+)/(?P<number>\d+)" + _TAIL)
# Files that hold kernels alone, and the guide that says how a candidate compiles such a text.
_KERNELS_ALONE = {".cu": "cuda", ".cuh": "cuda", ".cpp": "cpp", ".cc": "cpp", ".cxx": "cpp"}


def read_source(path: Path) -> str:
    """The text of a candidate file.

    Raises:
        CandidateError: missing, not a file, larger than 2 MB, not UTF-8 text, or a kernel without its Python file.
    """
    try:
        if not path.exists():
            raise CandidateError(f"candidate file {path} does not exist")
        if not path.is_file():
            raise CandidateError(f"candidate {path} is not a file")
        if language := _KERNELS_ALONE.get(path.suffix):
            how = f"`kernelgauge guide {language}` shows how it compiles such a text"
            raise CandidateError(f"{path} is not Python: a candidate is a Python file that defines ModelNew; {how}")
        if path.stat().st_size > LARGEST_CANDIDATE_MB << 20:
            raise CandidateError(f"candidate file {path} is larger than {LARGEST_CANDIDATE_MB} MB")
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise CandidateError(f"candidate file {path} is not UTF-8 text") from error
    except OSError as error:
        raise CandidateError(f"candidate file {path} cannot be read: {error.strerror}") from error


def meant_by(relative: str) -> tuple[str, int | None] | None:
    """Place of the problem that a file's path below its folder names, and the sample; None if it names no problem."""
    match = _FLAT.fullmatch(relative.rpartition("/")[2]) or _NESTED.search(relative)
    if match is None:
        return None
    place = f"{int(match['level'])}/{int(match['number'])}"
    return place, int(match["sample"]) if match["sample"] else None


class Folder:
    """Candidates from the files of a folder.

    Args:
        path: the folder.
        backend: kernel language of all files; default: recognised from each text.
        suite: the imported suite that the files answer; default: the built-in one.

    Raises:
        UsageError: no such folder, unreadable, or nothing in it is named after a problem.
    """

    def __init__(self, path: Path, backend: str | None = None, suite: str | None = None):
        self.path = path
        self._prefix = f"{suite}:" if suite else ""
        self._backend = backend
        self.ignored: list[str] = []
        self._files: dict[str, dict[int, Path]] = {}
        if not path.is_dir():
            raise UsageError(f"candidate folder {path} does not exist or is not a folder")
        try:
            next(path.iterdir(), None)  # rglob would take an unreadable folder for an empty one
            found = sorted(path.rglob("*.py"))
        except OSError as error:
            raise UsageError(f"candidate folder {path} cannot be read: {error.strerror}") from error
        for file in found:
            self._register(file)
        if not self._files:
            raise UsageError(
                f"no file in {path} is named after a problem; "
                "expected names like 1_23_softmax.py or level_1_problem_23_sample_0_kernel.py"
            )

    def _register(self, file: Path) -> None:
        relative = file.relative_to(self.path).as_posix()
        meant = meant_by(relative)
        if meant is None:
            self.ignored.append(relative)
            return
        key, sample = f"{self._prefix}{meant[0]}", meant[1] or 0
        taken = self._files.setdefault(key, {})
        if sample in taken:
            raise UsageError(f"{relative} and {taken[sample].name} are both sample {sample} of problem {key}")
        taken[sample] = file

    @property
    def name(self) -> str:
        return f"folder:{self.path.name}"

    def problems(self) -> list[str]:
        """Keys of the problems there are files for."""
        return list(self._files)

    def samples(self, problem: str) -> Sequence[int]:
        """Sample numbers of the files for this problem."""
        return sorted(self._files.get(problem, {}))

    def file(self, problem: str, sample: int) -> Path:
        """The file that answers this problem with this sample number."""
        return self._files[problem][sample]

    def text(self, file: Path) -> str:
        """What one of its files says. Raises CandidateError: it cannot be read."""
        return read_source(file)

    @property
    def origin(self) -> str:
        """The folder itself, which its last name does not say."""
        return str(self.path.resolve())

    def digest(self, problem: str, sample: int) -> str | None:
        """Of the file as it is now; None where it is not there or cannot be read."""
        if sample not in self._files.get(problem, {}):
            return None
        try:
            return self._candidate(problem, sample).digest
        except CandidateError:
            return None

    def complete(self, problem: Problem, sample: int, device: str) -> Candidate | NoCandidate:
        """The file's text as a candidate; an unreadable file is no candidate."""
        try:
            return self._candidate(problem.key, sample)
        except CandidateError as error:
            return NoCandidate(problem=problem.key, contestant=self.name, sample=sample, reason=str(error))

    def _candidate(self, problem: str, sample: int) -> Candidate:
        file = self.file(problem, sample)
        source = self.text(file)
        return Candidate(
            problem=problem,
            source=source,
            backend=self._backend or detect(source),
            contestant=self.name,
            sample=sample,
            origin=str(file),
        )

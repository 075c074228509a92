"""The candidates of a finished run as a contestant, so that they can be judged again."""

from __future__ import annotations

from collections.abc import Sequence

from kernelgauge.schema import Candidate, NoCandidate, Problem
from kernelgauge.store.run import Run


class Stored:
    """Answers each problem with what the run has stored for it, under the original contestant's name."""

    def __init__(self, run: Run):
        self._run = run
        self._records = {(record.problem, record.sample): record for record in run.latest()}
        self.name = run.header.contestant

    def problems(self) -> list[str]:
        """Keys of the problems the run has candidates for, in its order."""
        return list(dict.fromkeys(problem for problem, _ in self._records))

    def samples(self, problem: str) -> Sequence[int]:
        """Sample numbers stored for this problem."""
        return sorted(sample for key, sample in self._records if key == problem)

    def complete(self, problem: Problem, sample: int, device: str) -> Candidate | NoCandidate:
        """The stored candidate, unchanged."""
        record = self._records[problem.key, sample]
        return Candidate(
            problem=problem.key,
            source=self._run.source(record.candidate_digest),
            backend=record.backend,
            contestant=record.contestant,
            sample=sample,
            origin=str(self._run.path),
        )

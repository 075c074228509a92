"""The candidates of a run as a contestant, so that they can be judged again, or a search goes on from the best."""

from __future__ import annotations

from collections.abc import Sequence

from kernelgauge.schema import Candidate, Evaluation, NoCandidate, Problem
from kernelgauge.store.run import Run


class Stored:
    """Answers each problem with what the run has stored for it, under the original contestant's name.

    Args:
        skips: whether what had no answer then has none again, for a new folder that must hold that too.
    """

    def __init__(self, run: Run, skips: bool = False):
        self._run = run
        without = {(skip.problem, skip.sample): skip for skip in run.skips()} if skips else {}
        judged = {(record.problem, record.sample): record for record in run.latest()}
        self._records: dict[tuple[str, int], Evaluation | NoCandidate] = without | judged
        self.name = run.header.contestant

    def problems(self) -> list[str]:
        """Keys of the problems the run has candidates for, in its order; then of those without any answer."""
        judged = [problem for (problem, _), record in self._records.items() if isinstance(record, Evaluation)]
        return list(dict.fromkeys([*judged, *(problem for problem, _ in self._records)]))

    def samples(self, problem: str) -> Sequence[int]:
        """Sample numbers stored for this problem."""
        return sorted(sample for key, sample in self._records if key == problem)

    def digest(self, problem: str, sample: int) -> str | None:
        """Of the stored candidate; None where there is none."""
        record = self._records.get((problem, sample))
        return record.candidate_digest if isinstance(record, Evaluation) else None

    def complete(self, problem: Problem, sample: int, device: str) -> Candidate | NoCandidate:
        """The stored candidate, unchanged."""
        record = self._records[problem.key, sample]
        if isinstance(record, NoCandidate):
            return record
        return Candidate(
            problem=problem.key,
            source=self._run.source(record.candidate_digest),
            backend=record.backend,
            contestant=record.contestant,
            sample=sample,
            origin=str(self._run.path),
            elsewhere=record.elsewhere,
        )


class BestOf:
    """Answers each problem with the fastest right candidate that the run has stored for it."""

    def __init__(self, run: Run):
        self._stored, self.name = Stored(run), run.header.contestant
        right = sorted((record for record in run.latest() if record.passed), key=lambda each: each.speedup or 0.0)
        self._best = {record.problem: record.sample for record in right}

    def samples(self, problem: str) -> Sequence[int]:
        """The sample that is the best; none where no candidate was right."""
        return [self._best[problem]] if problem in self._best else []

    def complete(self, problem: Problem, sample: int, device: str) -> Candidate | NoCandidate:
        """That candidate, unchanged."""
        return self._stored.complete(problem, sample, device)

"""Candidates that nobody has judged, in the order of a forecast; a contestant of which the first alone are judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kernelgauge.backends.registry import detect
from kernelgauge.errors import UsageError
from kernelgauge.forecast.predictors.predictor import Predictor
from kernelgauge.forecast.replay import promise
from kernelgauge.generation.contestant import Contestant, knows_its_texts
from kernelgauge.generation.folder import read_source
from kernelgauge.problems.loader import load_problem, sizes_within
from kernelgauge.schema import Candidate, NoCandidate, Problem, digest
from kernelgauge.schema.forecast import Comparison, Forecast, Question, Side

UNKNOWN = "unknown"
"""Who wrote a file, as far as it says."""


class Order:
    """Orders candidates of a problem by what a predictor foresees of them against its reference.

    Args:
        rows: to learn from.
        gpu: the device that will judge, by its own name; None: that of most rows.

    Raises:
        UsageError: no row is of that device.
    """

    def __init__(self, rows: Sequence[Comparison], predictor: Predictor, gpu: str | None = None):
        where = gpu or Counter(row.gpu for row in rows).most_common(1)[0][0]
        self._like = [row for row in rows if row.gpu == where]
        if not self._like:
            there = ", ".join(sorted({row.gpu for row in rows}))
            raise UsageError(f"the data set has no row of {where!r}: it has {there}")
        self.gpu = where
        self._predictor = predictor
        predictor.fit(rows)

    def of(self, problem: str, candidates: Sequence[Candidate]) -> list[tuple[int, Forecast]]:
        """Places of these candidates, the most promising first, each with its forecast. Raises ProblemError."""
        said = self._predictor.predict([self._question(problem, each) for each in candidates])
        return sorted(enumerate(said), key=lambda each: -promise(each[1]))

    def _question(self, problem: str, candidate: Candidate) -> Question:
        """What rows of the same problem know of it, such as its bound, is known here too."""
        first = self._like[0]
        known = next((row for row in self._like if row.problem == problem and row.kind == "reference"), None)
        found = load_problem(problem, sizes=sizes_within(problem, (known or first).sizes))
        if known is not None and known.problem_digest != found.digest:
            known = None
        return Question(
            id=digest(f"{found.digest}|{candidate.digest}"),
            kind="reference",
            problem=found.key,
            problem_name=found.name,
            problem_digest=found.digest,
            level=found.level,
            sizes=found.sizes,
            math=first.math,
            protocol=first.protocol,
            gpu=first.gpu,
            anchor=Side(contestant="reference", backend="torch", digest=found.digest, source=found.source),
            candidate=Side(
                contestant=candidate.contestant,
                backend=candidate.backend,
                digest=candidate.digest,
                source=candidate.source,
            ),
            anchor_ms=known.anchor_ms if known else None,
            work=known.work if known else None,
            bound_ms=known.bound_ms if known else None,
        )


def ordered(order: Order, problem: str, files: Sequence[Path]) -> list[tuple[Path, Forecast]]:
    """These files, the most promising first, each with what is foreseen of it.

    Raises:
        ProblemError, CandidateError: the problem or a file cannot be read.
    """
    sources = [read_source(path) for path in files]
    candidates = [
        Candidate(problem=problem, source=source, backend=detect(source), contestant=UNKNOWN) for source in sources
    ]
    return [(files[place], said) for place, said in order.of(problem, candidates)]


class Promising(Contestant):
    """A contestant of whose candidates for a problem only the most promising are judged.

    Args:
        contestant: one whose texts are there before it is asked, such as a folder.
        first: how many of each problem.

    Raises:
        UsageError: its texts are not there.
    """

    def __init__(self, contestant: Contestant, order: Order, first: int, device: str):
        if not knows_its_texts(contestant):
            raise UsageError(
                f"{contestant.name} writes its candidates when it is asked; a forecast needs them before"
            )
        self._contestant, self._order, self._first, self._device = contestant, order, first, device
        self._chosen: dict[str, list[int]] = {}

    def __getattr__(self, name: str) -> Any:
        """What else the contestant has: `digest`, `origin`, `on_device`."""
        return getattr(self.__dict__["_contestant"], name)

    @property
    def name(self) -> str:
        return self._contestant.name

    def samples(self, problem: str) -> Sequence[int]:
        """The sample numbers of the most promising candidates, in that order; what is no candidate comes last."""
        if problem not in self._chosen:
            self._chosen[problem] = self._choose(problem, list(self._contestant.samples(problem)))
        return self._chosen[problem]

    def complete(self, problem: Problem, sample: int, device: str) -> Candidate | NoCandidate:
        return self._contestant.complete(problem, sample, device)

    def _choose(self, problem: str, samples: list[int]) -> list[int]:
        if len(samples) < 2:
            return samples
        found = load_problem(problem)
        answers = [(sample, self._contestant.complete(found, sample, self._device)) for sample in samples]
        candidates = [(sample, answer) for sample, answer in answers if isinstance(answer, Candidate)]
        places = self._order.of(problem, [answer for _, answer in candidates])
        best = [candidates[place][0] for place, _ in places]
        return [*best, *(sample for sample in samples if sample not in best)][: self._first]

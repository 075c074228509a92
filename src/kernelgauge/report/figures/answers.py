"""What a contestant answered, gathered by problem: the unit over which every share is taken."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from kernelgauge.schema import SUITE_NAME, Evaluation, NoCandidate

OWN_LEVEL = "own"
"""The level shown for a user's own reference file."""

Success = Callable[[Evaluation, float], bool]
"""A rule that says whether an evaluation is a success at threshold p."""


def by_interval(evaluation: Evaluation, p: float) -> bool:
    """The rule of `strict`: correct, and the whole interval of the speedup above p."""
    return evaluation.faster_than(p)


def by_point(evaluation: Evaluation, p: float) -> bool:
    """KernelBench's published rule: correct, and the estimate of the speedup above p, however noisy."""
    return evaluation.passed and (p == 0 or (evaluation.speedup is not None and evaluation.speedup > p))


@dataclass
class Answers:
    """All samples of one problem."""

    problem: str
    level: str
    evaluations: list[Evaluation] = field(default_factory=list)
    skips: list[NoCandidate] = field(default_factory=list)

    @property
    def samples(self) -> int:
        return len(self.evaluations) + len(self.skips)

    @property
    def trivial_answers(self) -> tuple[str, ...]:
        """The work-skipping answers that would have passed."""
        return tuple(dict.fromkeys(kind for e in self.evaluations for kind in e.trivial_answers))

    @property
    def scored(self) -> bool:
        """Whether the protocol lets the problem into the score."""
        return all(e.scored for e in self.evaluations) and all(s.scored for s in self.skips)

    def successes(self, p: float, rule: Success) -> int:
        return sum(rule(e, p) for e in self.evaluations)

    def share(self, p: float, rule: Success) -> float:
        """Share of samples that succeed: the unbiased estimate of pass@1."""
        return self.successes(p, rule) / self.samples


def gather(evaluations: Iterable[Evaluation], skips: Iterable[NoCandidate] = ()) -> list[Answers]:
    """One `Answers` a problem, in the order of levels and numbers.

    Of several records for one (problem, sample) the last one stands, and a record stands before a skip.
    """
    standing = {(e.problem, e.sample): e for e in evaluations}
    missing = {(s.problem, s.sample): s for s in skips if (s.problem, s.sample) not in standing}
    problems: dict[str, Answers] = {}
    for evaluation in standing.values():
        answers = problems.setdefault(evaluation.problem, Answers(evaluation.problem, level_of(evaluation)))
        answers.evaluations.append(evaluation)
    for skip in missing.values():
        answers = problems.setdefault(skip.problem, Answers(skip.problem, level_of(skip)))
        answers.skips.append(skip)
    return sorted(problems.values(), key=lambda answers: natural(answers.problem))


def natural(key: str) -> tuple[tuple[int, int, str], ...]:
    """Sorts `1/9` before `1/10`, and the suite's keys before the paths of own files."""
    parts = re.split(r"(\d+)", key)
    return tuple((0, int(p), "") if p.isdecimal() else (1, 0, p) for p in parts if p)


def level_of(record: Evaluation | NoCandidate) -> str:
    """The record's level as text. A skip may not say it, but a suite's keys do: `2/17` is of level 2.

    `0` is the level of problems of an imported suite that has none.
    """
    if record.level is not None:
        return str(record.level)
    key = re.fullmatch(rf"(?:{SUITE_NAME}:)?(\d+)/\d+", record.problem)
    return key[1] if key else OWN_LEVEL


def counting(problems: Sequence[Answers]) -> list[Answers]:
    """Those whose figures say something under their protocol."""
    return [answers for answers in problems if answers.scored]

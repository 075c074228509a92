"""Failure classes by category of problem: which kinds of problems are answered wrongly, and in which way."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from kernelgauge.report.figures.answers import Answers
from kernelgauge.report.figures.estimators import wilson
from kernelgauge.report.figures.suite import tags_of
from kernelgauge.schema import Evaluation, Record

CLASSES = {
    "passed": ("passed",),
    "wrong": ("wrong_value", "wrong_precision", "wrong_shape"),
    "broke": ("build_failed", "load_failed", "runtime_error"),
    "limits": ("timed_out", "out_of_memory"),
    "refused": ("rejected",),
    "missing": ("no_candidate",),
}
"""Outcomes by class, in the order in which they are shown; `missing` is where no candidate was given."""

_CLASS_OF = {outcome: name for name, outcomes in CLASSES.items() for outcome in outcomes}

UNTAGGED = "no tag"


class Category(Record):
    """Answers to the problems of one tag, or of all."""

    name: str
    problems: int
    answers: int
    """Candidates, and samples without one."""
    failed: float
    """Share of answers that did not pass."""
    interval: tuple[float, float]
    """Wilson 95 % interval of `failed`, as if answers to one problem were so many draws."""
    classes: dict[str, int]
    """Answers by class."""
    outcomes: dict[str, int]
    """The same by outcome, the most frequent first."""


def class_of(evaluation: Evaluation) -> str:
    """The class of an outcome."""
    return _CLASS_OF[evaluation.outcome.value]


def categories(problems: Sequence[Answers]) -> tuple[Category, ...]:
    """All answers, then those of each tag, the one with the most failures first; a problem may have several tags."""
    tagged: dict[str, list[Answers]] = defaultdict(list)
    for answers in problems:
        for tag in tags_of(answers.problem) or (UNTAGGED,):
            tagged[tag].append(answers)
    found = [_category(tag, those) for tag, those in tagged.items()]
    ordered = sorted(found, key=lambda each: (-each.failed * each.answers, -each.answers, each.name))
    return (_category("all", problems), *ordered) if problems else ()


def _category(name: str, problems: Sequence[Answers]) -> Category:
    outcomes = Counter(e.outcome.value for answers in problems for e in answers.evaluations)
    outcomes.update(no_candidate=sum(len(answers.skips) for answers in problems))
    total = sum(outcomes.values())
    classes = Counter[str]()
    for outcome, count in outcomes.items():
        classes[_CLASS_OF[outcome]] += count
    failed = total - classes["passed"]
    return Category(
        name=name,
        problems=len({answers.problem for answers in problems}),
        answers=total,
        failed=failed / total if total else 0.0,
        interval=wilson(failed, total),
        classes={each: classes[each] for each in CLASSES if classes[each]},
        outcomes={outcome: count for outcome, count in outcomes.most_common() if count},
    )

"""Refused candidates by class of what they broke; the classes are those of docs/explanation/threat-model.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypeVar, get_args

from kernelgauge.report.figures.answers import Answers
from kernelgauge.report.figures.estimators import wilson
from kernelgauge.schema import KernelRule, Record

Figure = TypeVar("Figure", int, float)

CLASSES: dict[str, tuple[str, ...]] = {
    "timing": ("forged_time", "late_output", "ran_while_stopped", "work_after_the_clock", "faster_than_memory"),
    "correctness": ("input_mutated", "output_aliases_input", "output_reused"),
    "process": ("forged_message",),
    "rules": get_args(KernelRule),
}
"""Every rule for which a candidate is rejected, in exactly one class."""

_CLASS_OF = {rule: name for name, rules in CLASSES.items() for rule in rules}


class Refused(Record):
    """Candidates rejected for a rule; weighed as `fast_p` is, so that the two can be read side by side."""

    samples: int
    running: int
    """Those of them that had begun to run: before that, nothing spoke against them."""
    share: float | None
    """Mean over problems of the share of samples that were rejected; None where there is no problem."""
    interval: tuple[float, float]
    """Wilson 95 % interval of `share`, over problems."""
    by_rule: dict[str, float]
    """The part of `share` that each rule has, the largest first."""
    by_class: dict[str, float]
    """The same by class of rule; see `report.refusals`."""
    samples_by_class: dict[str, int]
    """The part of `samples` that each class has."""


def class_of(rule: str) -> str:
    """The class of a rule; `other` for one that an older or newer kernelgauge has recorded."""
    return _CLASS_OF.get(rule, "other")


def by_class(rules: Mapping[str, Figure]) -> dict[str, dict[str, Figure]]:
    """Figures of rules, by class and rule; the class with the largest sum first."""
    classes: dict[str, dict[str, Figure]] = {}
    for rule, figure in rules.items():
        classes.setdefault(class_of(rule), {})[rule] = figure
    return dict(sorted(classes.items(), key=lambda pair: -sum(pair[1].values())))


def refused(problems: Sequence[Answers]) -> Refused:
    """How many of the candidates for these problems were rejected, and for what."""
    evaluations = [e for answers in problems for e in answers.evaluations]

    def total(rule: str | None) -> float:
        """Sum over problems of the share of samples rejected for this rule, or for any."""
        broke = ([e for e in a.evaluations if e.rule and rule in (None, e.rule)] for a in problems)
        return sum(len(each) / a.samples for each, a in zip(broke, problems, strict=True) if a.samples)

    count = len(problems)
    counts = dict(Counter(e.rule for e in evaluations if e.rule).most_common())
    shares = {rule: total(rule) / count for rule in counts}
    return Refused(
        samples=sum(e.rule is not None for e in evaluations),
        running=sum(e.rule is not None and "open" in e.seconds for e in evaluations),
        share=total(None) / count if count else None,
        interval=wilson(total(None), count),
        by_rule=shares,
        by_class=_sums(shares),
        samples_by_class=_sums(counts),
    )


def _sums(rules: Mapping[str, Figure]) -> dict[str, Figure]:
    return {name: sum(each.values()) for name, each in by_class(rules).items()}

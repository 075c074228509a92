"""Refused candidates by class of what they broke; the classes are those of docs/threat-model.md."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar, get_args

from kernelgauge.schema import KernelRule

Figure = TypeVar("Figure", int, float)

CLASSES: dict[str, tuple[str, ...]] = {
    "timing": ("forged_time", "late_output", "ran_while_stopped", "work_after_the_clock", "faster_than_memory"),
    "correctness": ("input_mutated", "output_aliases_input", "output_reused"),
    "process": ("forged_message",),
    "rules": get_args(KernelRule),
}
"""Every rule for which a candidate is rejected, in exactly one class."""

_CLASS_OF = {rule: name for name, rules in CLASSES.items() for rule in rules}


def class_of(rule: str) -> str:
    """The class of a rule; `other` for one that an older or newer kernelgauge has recorded."""
    return _CLASS_OF.get(rule, "other")


def by_class(rules: Mapping[str, Figure]) -> dict[str, dict[str, Figure]]:
    """Figures of rules, by class and rule; the class with the largest sum first."""
    classes: dict[str, dict[str, Figure]] = {}
    for rule, figure in rules.items():
        classes.setdefault(class_of(rule), {})[rule] = figure
    return dict(sorted(classes.items(), key=lambda pair: -sum(pair[1].values())))

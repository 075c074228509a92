"""Where candidates are lost on the way from an answer to a faster kernel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

from kernelgauge.report.scores import Group
from kernelgauge.schema import KernelRule, Record

STEPS = {
    "answered": ("no_candidate",),
    "admitted": ("rejected",),
    "built": ("build_failed", "load_failed"),
    "ran": ("runtime_error", "timed_out", "out_of_memory"),
    "allowed": ("rejected_running",),
    "right": ("wrong_shape", "wrong_value", "wrong_precision"),
    "faster": ("untimed", "slower", "tie"),
}
"""What is left after each step, and what is lost in it. A refused candidate is lost before it is built, by its text
alone, or after it ran."""

CLOCK_RULES = ("forged_time", "late_output", "ran_while_stopped", "work_after_the_clock", "faster_than_memory")


class Loss(Record):
    """Candidates that end at a step."""

    why: str
    """An outcome, or a standing of those that passed."""
    candidates: int


class Step(Record):
    """One step of the way."""

    name: str
    left: int
    """Candidates that got past it."""
    lost: tuple[Loss, ...]


def flow(group: Group) -> tuple[Step, ...]:
    """The way of all candidates of a group; the first step's `left` and `lost` are all that were asked for."""
    counts = {**group.outcomes, **group.standing, "no_candidate": group.no_candidate}
    counts["rejected_running"] = group.refused.running
    counts["rejected"] = group.refused.samples - group.refused.running
    counts["untimed"] = group.outcomes.get("passed", 0) - sum(group.standing.values())
    left = sum(group.outcomes.values()) + group.no_candidate
    steps = []
    for name, ends in STEPS.items():
        lost = tuple(
            Loss(why=end.removesuffix("_running"), candidates=counts[end]) for end in ends if counts.get(end)
        )
        left -= sum(loss.candidates for loss in lost)
        steps.append(Step(name=name, left=left, lost=lost))
    return tuple(steps)


def refusals(rules: Mapping[str, int]) -> dict[str, dict[str, int]]:
    """Refused candidates by class of rule, then by rule: no kernel of its own, the clock, the protocol of a call."""
    classes: dict[str, dict[str, int]] = {}
    for rule, count in rules.items():
        kernels = rule in get_args(KernelRule)
        name = (
            "no kernel of its own"
            if kernels
            else "against the clock"
            if rule in CLOCK_RULES
            else "against the rules of a call"
        )
        classes.setdefault(name, {})[rule] = count
    return dict(sorted(classes.items(), key=lambda pair: -sum(pair[1].values())))

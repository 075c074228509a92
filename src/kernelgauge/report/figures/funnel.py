"""Where candidates are lost on the way from an answer to a faster kernel."""

from __future__ import annotations

from kernelgauge.report.figures.scores import Group
from kernelgauge.schema import Record

STEPS = {
    "answered": ("no_candidate",),
    "admitted": ("rejected",),
    "built": ("build_failed", "load_failed"),
    "ran": ("runtime_error", "timed_out", "out_of_memory"),
    "allowed": ("rejected_running",),
    "right": ("wrong_shape", "wrong_value", "wrong_precision"),
    "faster": ("untimed", "slower", "tie", "unclear"),
}
"""What is left after each step, and what is lost in it. A refused candidate is lost before it is built, by its text
alone, or after it ran."""


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


def funnel(group: Group) -> tuple[Step, ...]:
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

"""What a contestant is told at a step, as a function of the history: nothing else is kept between two calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from kernelgauge.generation.feedback.verdict import facts
from kernelgauge.generation.prompts.prompt import Templates
from kernelgauge.schema import Attempt, Evaluation, Step

_NO_CANDIDATE = "it holds no candidate."


class Said(NamedTuple):
    """One message."""

    role: Literal["user", "assistant"]
    text: str


def conversation(first: str, history: Sequence[Attempt], step: Step, templates: Templates) -> list[Said]:
    """The messages of a step, the last one from the user.

    Args:
        first: the prompt of the problem.
        history: attempts so far; what they went on from is part of the conversation. What was given is shown: the
            contestant has not said it.
    """
    if step.after is None or step.fresh or history[step.after].given:
        return [Said("user", _opening(first, history, step, templates))]
    before = history[step.after]
    led_here = conversation(first, history, before.step, templates)
    return [*led_here, Said("assistant", before.answer), Said("user", _reply(before, step, templates))]


def _opening(first: str, history: Sequence[Attempt], step: Step, templates: Templates) -> str:
    parts = [first.strip()]
    if step.after is not None:
        parts.append(_shown(history, step, templates).strip())
    if step.asks == "ideas":
        parts.append(templates.filled("ideas.md.j2", count=step.count).strip())
    if step.idea is not None:
        number, which = step.idea
        parts.append(templates.filled("idea.md.j2", idea=history[number].ideas[which]).strip())
    return "\n\n".join(parts) + "\n"


def _shown(history: Sequence[Attempt], step: Step, templates: Templates) -> str:
    """An attempt to go on from, and others beside it, in one message."""
    assert step.after is not None
    parent = history[step.after]
    others = [
        {"source": other.source, "said": in_short(other.evaluation)}
        for other in (history[number] for number in step.inspirations)
        if other.source is not None and other.evaluation is not None
    ]
    return templates.filled("parent.md.j2", source=parent.source, inspirations=others, **facts(parent, step.feedback))


def _reply(before: Attempt, step: Step, templates: Templates) -> str:
    if before.refusal or before.evaluation is None:
        return templates.refused(before.refusal or _NO_CANDIDATE, before.cut_off)
    return templates.filled("judged.md.j2", **facts(before, step.feedback))


def in_short(verdict: Evaluation) -> str:
    """A verdict in a few words."""
    if verdict.speedup is not None:
        return f"right, {verdict.speedup:.3g} times as fast as the reference"
    return "right" if verdict.passed else verdict.outcome.value.replace("_", " ")

"""A verdict in the words that help its author: what is wrong and where, how fast it is and could be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kernelgauge.generation.feedback.errors import errors
from kernelgauge.schema import Attempt, Bound, Difference, Evaluation, Feedback

_LOG_LINES = 12
_LONGEST_LOG = 2000
_MANY = 0.9


def facts(attempt: Attempt, level: Feedback) -> dict[str, Any]:
    """What the template `judged.md.j2` is filled with, for an attempt that has a verdict."""
    verdict = attempt.evaluation
    assert verdict is not None
    found = errors(verdict.log, attempt.source or "") if not verdict.passed else ""
    return {
        "level": level,
        "verdict": verdict,
        "errors": found,
        "log": "" if verdict.passed or found else _end(verdict.log),
        "trials": list(_trials(verdict)),
        "difference": next((told(t.difference) for t in verdict.trials if t.difference is not None), []),
        "bound": bound_in_words(verdict.bound) if verdict.bound else "",
        "profile": attempt.profile if level == "G+E+P" else "",
    }


def told(found: Difference) -> list[str]:
    """The wrong elements of an output, a sentence each: how many, where, what they have in common."""
    which = f"output {found.output}, " if found.output else ""
    share = found.wrong / found.total
    many = "all" if share == 1 else f"{found.wrong:,} of {found.total:,} ({100 * share:.3g} %)"
    where = ""
    if 0 < share < _MANY and found.shape:
        box = ", ".join(f"{low}" if low == high else f"{low}..{high}" for low, high in found.region)
        where = f", in [{box}]"
    lines = [f"{which}shape {list(found.shape)}: {many} elements are wrong{where}."]
    lines += [f"{hint[0].upper()}{hint[1:]}." for hint in found.hints]
    first = "; ".join(f"[{', '.join(map(str, e.index))}] is {e.got:.6g}, due {e.due:.6g}" for e in found.first)
    return [*lines, *([f"The first of them: {first}."] if first else [])]


def bound_in_words(bound: Bound) -> str:
    """How far a candidate is from the least time that the hardware allows."""
    what = "moving its bytes" if bound.binding == "memory" else f"its arithmetic ({bound.rate})"
    share = f"the candidate reaches {100 * bound.share:.3g} % of that"
    return (
        f"The hardware allows {bound.bound_ms:.4g} ms at best, for {what}: {share}, and at most {bound.headroom:.3g} "
        "times the reference's speed is possible."
    )


def _trials(verdict: Evaluation) -> Iterator[str]:
    """Which checked calls agreed, if one did not."""
    if verdict.passed:
        return
    for number, trial in enumerate(verdict.trials, 1):
        size = f"error {trial.error:.2g}, allowed {trial.allowed:.2g}"
        yield f"call {number} ({trial.variant} inputs) {'agreed' if trial.agreed else 'did not agree'}: {size}"


def _end(log: str) -> str:
    return "\n".join(log.strip().splitlines()[-_LOG_LINES:])[-_LONGEST_LOG:]

"""The answer that the client gives by itself where the server cannot: no verdict, under the keys of every answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PARTS = (
    *("verdict", "formatted", "built", "correct", "rejected", "trials_agreed", "timed"),
    *("speedup", "speedup_low", "speedup_high", "faster", "tie", "unclear", "compile_known", "speedup_over_compile"),
    *("bound_known", "headroom", "bound_share", "coverage_known", "coverage", "scored", "review"),
)
"""The keys of `parts` in every answer, in their order."""

FEEDBACK = (
    "Your answer was not judged: the machine failed, and nothing is known of your file.\n\n"
    "Answer again with the complete file in one code block that begins with ```` ```python ````.\n"
)


def no_verdict(candidate: Mapping[str, Any], reason: str, turns: int | None = None) -> dict[str, Any]:
    """An answer without a verdict: there is no reward, and whoever trains masks the turn or asks again.

    Args:
        turns: after how many the reward ends a trajectory; None: not known.
    """
    return {
        "status": "no_verdict",
        "retry": True,
        "parts": dict.fromkeys(PARTS, 0.0),
        "reward": None,
        "returns": returns_without(candidate),
        "feedback": FEEDBACK,
        "done": turns is not None and candidate.get("turn", 0) + 1 >= turns,
        "outcome": "",
        "reason": reason,
        "evaluation": "",
    }


def returns_without(candidate: Mapping[str, Any]) -> list[None]:
    """No returns: how the reward combines turns is known to the server alone."""
    return [None] * (len(candidate.get("history", ())) + 1)

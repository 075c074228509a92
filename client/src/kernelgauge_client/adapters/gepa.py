"""An evaluator for GEPA's `optimize_anything`: a score, and what its reflection needs to know."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kernelgauge_client.adapters.verdicts import Verdicts
from kernelgauge_client.errors import JudgeError

OBJECTIVES = ("built", "trials_agreed", "correct", "speedup_low")
"""Parts of an answer that span the Pareto front; of all, more is better."""

Candidate = str | Mapping[str, str]


class KernelEvaluator:
    """`evaluator(candidate[, example]) -> (score, side_info)`.

    Args:
        problem: its name, such as `1/23`; None: each example names its own, as text or under `problem`.
        text: makes the text that is judged out of a candidate and a problem's name, where candidates are prompts and
            not kernels; default: the candidate is the text.
        settings: as of `kernelgauge_client.Judge`.

    Raises:
        JudgeError: candidates for this problem cannot be judged there.
    """

    def __init__(self, problem: str | None = None, text: Callable[[Any, str], str] | None = None, **settings: Any):
        self._problem, self._text, self._verdicts = problem, text or _only_text, Verdicts(**settings)
        if problem is not None:
            self._verdicts.check(problem)

    def __call__(self, candidate: Candidate, example: object = None) -> tuple[float, dict[str, Any]]:
        """Judge one candidate.

        Raises:
            NoVerdict: the machine failed. GEPA ends, and goes on from its `run_dir`; a score would be made up.
            JudgeError: the server refuses, or was never there.
        """
        return self.batch([(candidate, example)])[0]

    def batch(self, pairs: Sequence[tuple[Candidate, object]]) -> list[tuple[float, dict[str, Any]]]:
        """Many at once, as GEPA's `batch_evaluator` is called. Raises as a call."""
        return [_scored(answer) for answer in self._verdicts.batch([self._candidate(*pair) for pair in pairs])]

    def _candidate(self, candidate: Candidate, example: object) -> dict[str, str]:
        problem = self._problem or (example.get("problem") if isinstance(example, Mapping) else example)
        if not isinstance(problem, str):
            raise JudgeError(
                "no problem is named: make the evaluator with one, or examples that are names such as 1/23"
            )
        return {"problem": problem, "text": self._text(candidate, problem)}


def _only_text(candidate: Candidate, problem: str) -> str:
    if isinstance(candidate, str):
        return candidate
    if len(candidate) != 1:
        raise JudgeError(f"a candidate has {len(candidate)} texts: say by `text=` what is judged of them")
    return next(iter(candidate.values()))


def _scored(answer: Mapping[str, Any]) -> tuple[float, dict[str, Any]]:
    told = {name: answer[name] for name in ("outcome", "reason", "feedback") if answer[name]}
    return float(answer["reward"]), {"scores": {name: answer["parts"][name] for name in OBJECTIVES}, **told}

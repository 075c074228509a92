"""The evaluations of a run seen over another baseline than eager."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kernelgauge.report.figures.answers import Answers
from kernelgauge.schema import Evaluation

STRONGEST = "strongest"
"""The name that stands for each problem's fastest mode, wherever a mode can be named."""


def rebased(problems: Sequence[Answers], baseline: str) -> tuple[list[Answers], tuple[str, ...]]:
    """The same answers with their speedups over `baseline`, a mode or `strongest`; and the problems left out.

    Left out is a problem with a correct candidate that holds no speedup over it, since nobody knows on which side of
    a threshold it is. Candidates that failed stay: they fail over every baseline.
    """
    kept, left_out = [], []
    for answers in problems:
        evaluations = [seen for each in answers.evaluations if (seen := _over(each, baseline))]
        if len(evaluations) < len(answers.evaluations):
            left_out.append(answers.problem)
        else:
            kept.append(replace(answers, evaluations=evaluations))
    return kept, tuple(left_out)


def _over(evaluation: Evaluation, baseline: str) -> Evaluation | None:
    if not evaluation.passed:
        return evaluation
    by_strongest = baseline == STRONGEST
    fitting = [
        each for each in evaluation.baseline_speedups if (each.strongest if by_strongest else each.mode == baseline)
    ]
    if not fitting or evaluation.timing is None:
        return None
    timing = evaluation.timing.model_copy(update={"speedup": fitting[0].speedup, "interval": fitting[0].interval})
    return evaluation.model_copy(update={"timing": timing})

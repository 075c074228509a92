"""Which of two attempts is better: the one that got further, and of right ones the faster."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kernelgauge.schema import Attempt, Outcome

# How far each outcome is from a pass. A candidate that was refused for cheating is worth less than one that fails.
_STAGES = (
    (Outcome.REJECTED,),
    (Outcome.BUILD_FAILED,),
    (Outcome.LOAD_FAILED,),
    (Outcome.RUNTIME_ERROR, Outcome.TIMED_OUT, Outcome.OUT_OF_MEMORY),
    (Outcome.WRONG_SHAPE,),
    (Outcome.WRONG_VALUE,),
    (Outcome.WRONG_PRECISION,),
    (Outcome.PASSED,),
)
_STAGE = {outcome: stage for stage, outcomes in enumerate(_STAGES, 1) for outcome in outcomes}


def fitness(attempt: Attempt) -> tuple[int, int, float]:
    """Stage reached, checked calls that agreed, speedup: the larger, the better."""
    record = attempt.evaluation
    if record is None:
        return (-1 if attempt.source is None else 0), 0, 0.0
    return _STAGE[record.outcome], sum(trial.agreed for trial in record.trials), record.speedup or 0.0


def best(history: Sequence[Attempt], among: Iterable[int] | None = None) -> int:
    """The best attempt by its number, of equal ones the first; the history is not empty."""
    numbers = range(len(history)) if among is None else among
    return max(numbers, key=lambda number: (history[number].step.asks == "candidate", fitness(history[number])))

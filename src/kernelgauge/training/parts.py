"""The numbers that rewards are made of: the same keys in every answer, whatever became of the candidate.

What is not known is 0, and a part of its own says that it is not known. A trainer may log all of them.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from kernelgauge.schema import Evaluation, Outcome, Record
from kernelgauge.schema.timing import tells

Flag = Annotated[float, Field(ge=0, le=1)]
Ratio = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1)]

# What a candidate ends in before a process of it has loaded its file.
_NOT_BUILT = (Outcome.BUILD_FAILED, Outcome.LOAD_FAILED)


class Parts(Record):
    """What is known of one answer, in numbers. Flags are 0 or 1, speedups are reference time over candidate time."""

    verdict: Flag = 0.0
    """Whether there is a verdict. Where it is 0 the machine failed, and all other parts are 0 and mean nothing."""
    formatted: Flag = 0.0
    """Whether the text holds a candidate."""
    built: Flag = 0.0
    """Whether it was built and loaded. 0 too for one that was refused by its text, or whose build or import hung."""
    correct: Flag = 0.0
    """Whether every trial agreed and no rule was broken: the outcome `passed`."""
    rejected: Flag = 0.0
    """Whether it broke a rule: a cheat, or no kernel under the kernel policy."""
    trials_agreed: Share = 0.0
    """Share of the checked calls that agreed."""
    timed: Flag = 0.0
    """Whether there is a speedup. The six parts below are 0 where there is none."""
    speedup: Ratio = 0.0
    """Over eager PyTorch, the point estimate."""
    speedup_low: Ratio = 0.0
    """Lower end of its 95 % interval."""
    speedup_high: Ratio = 0.0
    """Upper end of its interval."""
    faster: Flag = 0.0
    """Whether the whole interval is above 1."""
    tie: Flag = 0.0
    """Whether the interval contains 1, and is narrow enough to tell."""
    unclear: Flag = 0.0
    """Whether the interval is too wide to tell anything."""
    compile_known: Flag = 0.0
    """Whether `torch.compile` was measured on this problem here, under the same protocol (`kernelgauge baseline`)."""
    speedup_over_compile: Ratio = 0.0
    """Over `torch.compile` in its default mode, the point estimate; 0 where `compile_known` is 0."""
    bound_known: Flag = 0.0
    """Whether the least time that the hardware allows is known."""
    headroom: Ratio = 0.0
    """Reference time over that least time: no kernel can have a larger speedup. 0 where it is not known."""
    bound_share: Ratio = 0.0
    """That least time over the candidate's: 1 is as fast as the hardware allows. 0 where it is not known."""
    coverage_known: Flag = 0.0
    """Whether a watched call has shown where its time goes. Under the kernel policy `kernel-required` every right
    candidate on a GPU is watched, under `default` only those whose text leaves something open."""
    coverage: Share = 0.0
    """Share of the time in kernels that is spent in the candidate's own; 0 where `coverage_known` is 0. It is what
    the candidate's own process has seen: a claim."""
    scored: Flag = 0.0
    """Whether the problem counts under the protocol. 0 where an answer without the work would have passed."""
    review: Flag = 0.0
    """Whether somebody should look: it seems faster than its hardware allows."""

    @model_validator(mode="after")
    def _consistent(self) -> Parts:
        if not self.verdict and any(value for name, value in self if name != "verdict"):
            raise ValueError("without a verdict nothing is known of a candidate")
        if self.correct and (self.rejected or not self.built):
            raise ValueError("a right candidate was built, and not refused")
        if self.timed and not self.correct:
            raise ValueError("only a right candidate has a speedup")
        if self.timed != (self.speedup > 0) or not self.speedup_low <= self.speedup <= self.speedup_high:
            raise ValueError("a speedup lies inside its interval, and there is one where it was timed")
        if self.faster + self.tie + self.unclear > 1:
            raise ValueError("faster, tie and unclear exclude each other")
        for known, value in (("compile_known", "speedup_over_compile"), ("coverage_known", "coverage")):
            if getattr(self, value) and not getattr(self, known):
                raise ValueError(f"{value} is not known")
        return self


PARTS: tuple[str, ...] = tuple(Parts.model_fields)
"""The keys of `parts` in every answer."""


def parts_of(verdict: Evaluation) -> Parts:
    """The numbers in a record."""
    timing, bound = verdict.timing, verdict.bound
    low, high = timing.interval if timing else (0.0, 0.0)
    agreed = [trial.agreed for trial in verdict.trials]
    compiled = next((each.speedup for each in verdict.baseline_speedups if each.mode == "compile"), None)
    coverage = coverage_of(verdict)
    return Parts(
        verdict=1,
        formatted=1,
        built=_built(verdict),
        correct=verdict.passed,
        rejected=verdict.outcome is Outcome.REJECTED,
        trials_agreed=sum(agreed) / len(agreed) if agreed else 0.0,
        timed=timing is not None,
        speedup=timing.speedup if timing else 0.0,
        speedup_low=low,
        speedup_high=high,
        faster=verdict.standing == "faster",
        tie=verdict.standing == "tie",
        unclear=timing is not None and not tells(timing.interval),
        compile_known=compiled is not None,
        speedup_over_compile=compiled or 0.0,
        bound_known=bound is not None,
        headroom=bound.headroom if bound else 0.0,
        bound_share=bound.share if bound else 0.0,
        coverage_known=coverage is not None,
        coverage=coverage or 0.0,
        scored=verdict.scored,
        review=bool(bound and bound.review),
    )


def coverage_of(verdict: Evaluation) -> float | None:
    """Share of the time in kernels that the candidate's own took in the call that was watched; None if not known.

    Kernels whose origin nobody knows count as others', as in `ExecutedWork.own_share`. On a CPU functions of a
    candidate that nobody has seen may have done the work: there none of its own seen is not none.
    """
    if verdict.executed is None:
        return None
    if verdict.executed.own_share is None and verdict.device != "cpu":
        return 0.0 if verdict.executed.others and not verdict.executed.own else None
    return verdict.executed.own_share


def _built(verdict: Evaluation) -> bool:
    """Whether a process had its file loaded: then a call of it was checked, or it was ended for what loading did.

    A build may end in a hang or in a want of memory too, and so may an import: those have not got so far as a check.
    """
    if verdict.outcome is Outcome.REJECTED:  # by its text before a build, or by what a process of it did
        return "open" in verdict.seconds
    return verdict.outcome not in _NOT_BUILT and (verdict.passed or "check" in verdict.seconds)

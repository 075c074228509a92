"""Correctness: the checked trials of one candidate against one reference."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, Protocol

import torch

from kernelgauge.checks.differences import difference
from kernelgauge.checks.numerics import Distance
from kernelgauge.checks.probes import BLIND, Accepts, Probes
from kernelgauge.errors import ReferenceTooLarge
from kernelgauge.evaluation.correctness import verdicts
from kernelgauge.evaluation.correctness.conditioning import sound, well_conditioned
from kernelgauge.evaluation.failures import Failure
from kernelgauge.evaluation.sides.honest_errors import HonestErrors
from kernelgauge.evaluation.sides.reference import Reference
from kernelgauge.evaluation.sides.right_answers import in_domain
from kernelgauge.evaluation.sides.side import Side
from kernelgauge.schema import Trial
from kernelgauge.timing.cache_flush import CacheFlush
from kernelgauge.wire.messages import Claim

WeightSync = Literal["seed", "state_dict"]
"""How both sides get equal parameters: each draws its own from the same seed, or the reference's are loaded."""


@dataclass
class Checked:
    """What the trials showed; `failure` is None if every one agreed."""

    trials: list[Trial] = field(default_factory=list)
    eager: dict[str, list[list[Distance]]] = field(default_factory=dict)
    """By kind of inputs, and for each trial with such, eager's distance from the oracle for each output. Only kinds
    that lie in the problem's domain and have a right answer; timed calls are drawn from these."""
    failure: Failure | None = None
    weight_sync: WeightSync = "seed"
    other_weights: bool = False
    """Whether it is wrong with weights of its own draw, and those may not have been the reference's."""
    blind: tuple[str, ...] = ()
    """Where all agreed: answers without the work that all trials with own inputs would have accepted as well."""


@dataclass(frozen=True)
class Facts:
    """The trusted side of one trial."""

    answer: list[torch.Tensor]
    truth: list[torch.Tensor]
    eager: list[Distance]
    variant: str
    sound: bool
    """Whether eager and the oracle agree but for rounding; else eager's answer is the truth of this trial."""
    claim: Claim
    """What the reference's own worker said of the call: whether the reference itself aliases or reuses."""
    honest: HonestErrors | None = None
    """What honest arithmetic makes of these inputs; None where eager stands in for the oracle."""


_MOST_FURTHER = 8
# Of the trials, every so manyth finds cold caches on a GPU. Warps whose data come from memory finish at different
# times: a barrier that is missing shows then, and with warm caches hardly ever (decision 25).
_COLD = 2


def prepare(reference: Reference, variant: str) -> Facts:
    """Draw inputs and the right answer.

    Where a variant leaves the problem's domain (the answer is not finite or, under large inputs, ill-conditioned),
    its own draw stands in; where eager and oracle disagree by more than rounding (an integer decided by a near-tie,
    a float beyond 1e-3), eager's answer is the truth of this trial.
    """
    answer, truth = reference.answers.to(variant)
    if not in_domain(variant, answer):
        return prepare(reference, "own")
    claim = reference.last_claim
    eager = reference.eager_distances(answer, truth)
    if variant == "large" and not well_conditioned(reference, eager):
        return prepare(reference, "own")
    agree = sound(reference, eager)
    if not agree:
        reference.notes.append("eager and the float64 oracle disagree by more than rounding: eager stands in")
        truth, eager = answer, [Distance(0.0, 0.0) for _ in answer]
    return Facts(answer, truth, eager, variant, agree, claim, None if truth is answer else reference.honest)


def _try_candidate(reference: Reference, candidate: Side, facts: Facts, where: str, cold: bool) -> Trial:
    plan = reference.protocol.timing_on(reference.device)
    candidate.allow(reference.side.slowest_s)
    candidate.stage(reference.arguments, reference.master, reference.call_seed, stop=True)
    if cold:
        CacheFlush(reference.device)()
        candidate.buffers.wait()
    call = candidate.call(plan.timer if plan.interleaved else "host_time", look=True)
    candidate.process.freeze()  # as around a timed call: the worker is not to know which this is
    outputs = candidate.buffers.snapshot()
    verdicts.shapes(call.claim, candidate.buffers.expected)
    tolerance = reference.protocol.tolerance
    # First of all: asking the oracle may have the worker go on, to give back memory.
    inputs_kept = reference.inputs_kept_by(candidate)
    trial, found = verdicts.compare(tolerance, facts.variant, outputs, facts.truth, facts.eager, facts.honest)
    verdicts.side_effects(call.claim, inputs_kept, facts.claim)
    if not trial.agreed:
        wrong = difference(outputs, facts.truth, tolerance, trial.allowed)
        trial = trial.model_copy(update={"difference": wrong})
        failure = verdicts.disagreement(trial, found, tolerance, where, outputs, facts.truth, facts.honest)
        raise _Disagreed(trial, failure)
    return trial


class _Disagreed(Exception):
    def __init__(self, trial: Trial, failure: Failure):
        super().__init__(failure.reason)
        self.trial, self.failure = trial, failure


def trials(reference: Reference, blind: Probes, first: tuple[str, ...] = ()) -> Iterator[str]:
    """The protocol's variants, and further draws of the own inputs as long as an answer without the work would pass.

    Some inputs say nothing (to a ReLU that is shut): luck must not decide.

    Args:
        first: the variants to begin with.
    """
    places = {variant: place for place, variant in enumerate(first)}
    yield from sorted(reference.protocol.inputs.variants, key=lambda variant: places.get(variant, len(first)))
    if reference.protocol.score.weak_problems == "excluded":
        for _ in range(_MOST_FURTHER):
            if not blind.survivors():
                return
            yield "own"


def acceptance(reference: Reference, facts: Facts, asks: bool = True) -> Accepts:
    """Whether the protocol would take some outputs for right in this trial.

    Args:
        asks: the oracle what honest arithmetic makes of the inputs; else what it has said already has to do.
    """
    honest = facts.honest if asks or facts.honest is None else facts.honest.remembered()

    def accepts(answer: list[torch.Tensor]) -> bool:
        known = facts.truth, facts.eager, honest
        return verdicts.compare(reference.protocol.tolerance, facts.variant, answer, *known)[0].agreed

    return accepts


class Observer(Protocol):
    """Looks at every trial beside the candidate; see `screening.ScreeningTrials`."""

    blind: Probes

    @property
    def settled(self) -> bool:
        """Whether no further trial can change what was seen."""

    def see(self, facts: Facts) -> None:
        """The trial that was prepared last."""

    def give_up(self) -> bool:
        """Give back the memory that looking takes, and look no more; False if there was none to give back."""


def check(reference: Reference, candidate: Side, probe: bool = False, observer: Observer | None = None) -> Checked:
    """Run every trial of the protocol; stop at the first that does not agree.

    Args:
        probe: see whether these very draws tell the work from an answer without it.
        observer: is shown every trial, also those after a failure until it has seen enough.

    Raises:
        ProblemError, MachineError: the trusted side failed.
    """
    result = Checked()
    blind = observer.blind if observer else Probes(BLIND if probe else (), reference.plan.tight)
    for number, variant in enumerate(trials(reference, blind), 1):
        facts = _prepared_beside(observer, reference, variant)
        if facts.variant == "own" or (facts.variant == variant and facts.sound):
            result.eager.setdefault(facts.variant, []).append(facts.eager)
        if observer:
            observer.see(facts)
        elif facts.variant == "own":
            blind.see(facts.answer, [], acceptance(reference, facts))
        if result.failure is None:
            where = f"trial {number} ({facts.variant} inputs)"
            _record_trial(result, reference, candidate, facts, where, cold=number % _COLD == 0)
        if result.failure is not None and (observer is None or observer.settled):
            break
    if result.failure is None and probe:
        result.blind = tuple(sorted(blind.survivors()))
    return result


def _prepared_beside(observer: Observer | None, reference: Reference, variant: str) -> Facts:
    """As `prepare`; what an observer keeps must not be in the way."""
    try:
        return prepare(reference, variant)
    except ReferenceTooLarge:
        if observer is None or not observer.give_up():
            raise
        return prepare(reference, variant)


def _record_trial(
    result: Checked, reference: Reference, candidate: Side, facts: Facts, where: str, cold: bool
) -> None:
    try:
        result.trials.append(_try_candidate(reference, candidate, facts, where, cold))
    except _Disagreed as disagreed:
        result.trials.append(disagreed.trial)
        result.failure = disagreed.failure
    except Failure as failure:
        result.failure = failure

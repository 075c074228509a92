"""A pair as a row of the file: everything that is needed to judge it again, and the verdict it was given."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal

from pydantic import Field, model_validator

from kernelgauge.config import Protocol
from kernelgauge.pairs.module import Module, SourceKind
from kernelgauge.problems.splits import split_of
from kernelgauge.schema import (
    Candidate,
    Domain,
    Environment,
    Evaluation,
    KernelPolicyName,
    Outcome,
    Problem,
    Record,
    Sizes,
    Split,
    Standing,
    digest,
)

PAIRS_FORMAT = 1
"""Version of the file of pairs. History: 1, November 2026, first version."""

Kind = Literal["positive", "negative"]
How = Literal["compiler", "mutation", "cheat", "slow"]


class Row(Record):
    """A reference, a kernel, and what became of it. Times are in milliseconds, speedups over eager."""

    id: str
    """Of what was asked for: module, sizes, arithmetic, and how the kernel came about."""
    module: str
    """Name of the module: rows of one module differ in sizes, arithmetic or kernel."""
    structure: str
    """Digest of the module's normalised syntax tree: no two modules share one."""
    split: Split
    """What is trained on and what is kept to validate, by structure."""
    kind: Kind
    """`positive`: right and not slower than eager; `negative`: refused, or right and slower."""
    how: How
    """Where the kernel comes from: the compiler's own, a fault put into that, a cheat, or one made slow."""
    what: str = ""
    """What was changed, such as `wrong_operator: tmp0 + tmp1: + -> -`; empty for the compiler's own."""
    parent: str = ""
    """The positive row that a negative was made from; empty for the compiler's own."""
    reference: str
    """Text that defines `Model`, `get_inputs` and `get_init_inputs`, at these sizes."""
    candidate: str
    """Text that defines `ModelNew`."""
    backend: str
    """Kernel language: `triton`, `cpp` or `torch`."""
    sizes: Sizes
    """Which set of the module's size constants stands in `reference`."""
    math: str
    """Arithmetic of both sides: `ieee` is float32; `fp16`, `bf16`: parameters and float inputs cast to that type."""
    domains: dict[str, Domain] = Field(default_factory=dict)
    """By input: which other values make sense; see `Problem.domains`."""
    tags: tuple[str, ...] = ()
    outcome: Outcome
    rule: str | None = None
    """The rule that a rejected candidate broke."""
    reason: str = ""
    """One sentence; empty for a pass."""
    standing: Standing | None = None
    """Against eager, by the whole interval; null where nothing was timed."""
    speedup: float | None = None
    speedup_low: float | None = None
    """Lower end of the interval of `speedup`."""
    speedup_high: float | None = None
    """Upper end."""
    confidence: float | None = None
    """Of the interval."""
    reference_ms: float | None = None
    candidate_ms: float | None = None
    bound_ms: float | None = None
    """The least time that the hardware allows; null where it is not known."""
    error: float | None = None
    """Largest error of a checked call as a multiple of what was allowed: below 1 in every pass."""
    protocol: str
    protocol_digest: str
    rules: Protocol
    """All rules of the judgement, in the file as JSON: with them it can be repeated by a later version."""
    kernel_policy: KernelPolicyName
    device: str
    hardware: str
    """GPU, or processor."""
    environment: Environment
    """Versions and hardware, in the file as JSON."""
    created: datetime = Field(default_factory=lambda: datetime.now(UTC))
    source: SourceKind
    """Where the module comes from: `recipe`, `folder`, `layers`."""
    origin: str
    """The recipe with seed and number, the file and class, or the layer."""
    repository: str = ""
    commit: str = ""
    licence: str
    """SPDX expression of the reference and what was made from it."""
    nearest: str
    """The built-in problem that is the nearest to the module."""
    distance: float
    """From that, 0 to 1; see the how-to on data for training."""

    @model_validator(mode="after")
    def _consistent(self) -> Row:
        if self.kind == "positive" and (self.outcome is not Outcome.PASSED or self.standing == "slower"):
            raise ValueError("a positive row is right, and not slower than eager")
        if self.kind == "negative" and self.outcome is Outcome.PASSED and self.standing != "slower":
            raise ValueError("a negative row is refused, or slower than eager")
        if (self.speedup is None) != (self.standing is None):
            raise ValueError("a standing needs a speedup")
        if (self.rules.name, self.rules.digest) != (self.protocol, self.protocol_digest):
            raise ValueError("the rules are not those of the protocol that is named")
        return self

    def problem(self) -> Problem:
        """The reference as it was judged."""
        return Problem(
            key=self.module,
            name=self.module,
            sizes=self.sizes,
            source=self.reference,
            domains=self.domains,
            tags=self.tags,
        )


_MARGIN = 2.0


def near_the_limit(record: Evaluation) -> bool:
    """Whether another draw of inputs and weights could give a candidate another verdict.

    Right answers that use more than half of what is allowed, and wrong ones that exceed it by less than twice: the
    error of one kernel differs between draws by less than that.
    """
    largest = max((trial.error / trial.allowed for trial in record.trials), default=None)
    if largest is None or record.outcome not in (Outcome.PASSED, *_WRONG):
        return False
    return largest > 1 / _MARGIN if record.passed else largest < _MARGIN


_WRONG = (Outcome.WRONG_VALUE, Outcome.WRONG_PRECISION)


def row_id(module: Module, sizes: Sizes, math: str, how: str) -> str:
    """What a row is known by before there is one."""
    return digest("\n".join((module.name, digest(module.source), sizes, math, how)))


def row_of(
    made: str,
    module: Module,
    structure: str,
    candidate: Candidate,
    record: Evaluation,
    rules: Protocol,
    how: How,
    what: str = "",
    parent: str = "",
    validation: float = 0.1,
) -> Row:
    """The row of a judged candidate; `made` is its `row_id`, `validation` the share of structures that validate."""
    problem, timing, nearest = module.problem(record.sizes), record.timing, module.nearest
    assert nearest is not None
    good = record.passed and record.standing != "slower"
    return Row(
        id=made,
        module=module.name,
        structure=structure,
        split=split_of(module.source, validation),
        kind="positive" if good else "negative",
        how=how,
        what=what,
        parent=parent,
        reference=problem.source,
        candidate=candidate.source,
        backend=candidate.backend,
        sizes=record.sizes,
        math=record.math or "ieee",
        domains=module.domains,
        tags=module.tags,
        outcome=record.outcome,
        rule=record.rule,
        reason=record.reason,
        standing=record.standing,
        speedup=record.speedup,
        speedup_low=timing.interval[0] if timing else None,
        speedup_high=timing.interval[1] if timing else None,
        confidence=timing.confidence if timing else None,
        reference_ms=timing.reference_ms if timing else None,
        candidate_ms=timing.candidate_ms if timing else None,
        bound_ms=record.bound.bound_ms if record.bound else None,
        error=max((trial.error / trial.allowed for trial in record.trials), default=None),
        protocol=record.protocol,
        protocol_digest=record.protocol_digest,
        rules=rules,
        kernel_policy=record.kernel_policy,
        device=record.device,
        hardware=(record.environment.gpu if record.device != "cpu" else None) or record.environment.cpu,
        environment=record.environment,
        source=module.provenance.kind,
        origin=module.provenance.origin,
        repository=module.provenance.repository,
        commit=module.provenance.commit,
        licence=module.provenance.licence,
        nearest=nearest.problem,
        distance=nearest.distance,
    )

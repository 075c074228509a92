"""What a package says of itself: the records in its `package.json`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from pydantic import Field

from kernelgauge.packaging.winners import LeftOut, Winner, class_of
from kernelgauge.schema import Environment, Record

FORMAT = 1
"""Version of a package's files. History: 1, November 2026, first version."""


class File(Record):
    """A file of the package, by its path below the module's folder."""

    file: str
    sha256: str


class Machine(Record):
    """The class of machine that a kernel was judged on; on another PyTorch computes."""

    device: str
    name: str
    capability: str | None = None
    """None where the machine that wrote the package could not tell."""
    torch: str
    triton: str | None = None


class Provenance(Record):
    """Where a kernel's figures come from."""

    record: str
    problem: str
    problem_digest: str
    candidate_digest: str
    contestant: str
    protocol: str
    protocol_digest: str
    judged: datetime
    speedup: float
    interval: tuple[float, float]
    confidence: float
    reference_ms: float
    candidate_ms: float
    error: float
    """The largest of its checked calls, in the protocol's unit; see `Trial`."""
    allowed: float
    """In that call."""
    worst: float
    """The largest error of one element in any call, relative to the root mean square of the float64 output."""
    environment: Environment
    licence: str


class Variant(Record):
    """A kernel, and the one call that it was judged for."""

    backend: str
    math: str
    machine: Machine
    variables: dict[str, str] = Field(default_factory=dict)
    """Environment that its build needs, as where it was judged."""
    candidate: File
    reference: File
    inputs: int
    """So many of `arguments` are inputs; the others are weights."""
    arguments: tuple[dict[str, Any], ...]
    """`shape` and `dtype` of a tensor, `value` of a number."""
    state: tuple[str, ...]
    """Names of the weights."""
    results: tuple[dict[str, Any], ...]
    """`shape`, `dtype` and `stride` of each."""
    provenance: Provenance


class Operator(Record):
    """A problem's operator with its kernels."""

    name: str
    about: str
    schema_: str = Field(serialization_alias="schema")
    arguments: tuple[str, ...]
    variants: tuple[Variant, ...]


class Contents(Record):
    """`package.json`."""

    format: int = FORMAT
    name: str
    created: datetime = Field(default_factory=lambda: datetime.now(UTC))
    kernelgauge: str
    operators: tuple[Operator, ...]
    left_out: tuple[LeftOut, ...]


def machine_of(winner: Winner, capability: str | None) -> Machine:
    """The class of machine of a winner's record."""
    kind, name, torch = class_of(winner.evaluation)
    triton = winner.evaluation.environment.triton if winner.evaluation.backend == "triton" else None
    return Machine(device=kind, name=name, capability=capability, torch=torch, triton=triton)


def provenance_of(winner: Winner, licence: str) -> Provenance:
    """What a winner's record says, in short."""
    record, timing = winner.evaluation, winner.evaluation.timing
    assert timing is not None
    worst = max(record.trials, key=lambda trial: trial.error / trial.allowed if trial.allowed else 0.0)
    return Provenance(
        record=record.id,
        problem=record.problem,
        problem_digest=record.problem_digest,
        candidate_digest=record.candidate_digest,
        contestant=record.contestant,
        protocol=record.protocol,
        protocol_digest=record.protocol_digest,
        judged=record.created,
        speedup=timing.speedup,
        interval=timing.interval,
        confidence=timing.confidence,
        reference_ms=timing.reference_ms,
        candidate_ms=timing.candidate_ms,
        error=worst.error,
        allowed=worst.allowed,
        worst=max(trial.worst for trial in record.trials),
        environment=record.environment,
        licence=licence,
    )

"""A baseline: how fast PyTorch itself is on a problem in one of its modes, on one machine under one protocol."""

from __future__ import annotations

import math
from datetime import datetime

from pydantic import model_validator

from kernelgauge.schema.base import FORMAT, Record, digest
from kernelgauge.schema.comparison import Mode
from kernelgauge.schema.evaluation import Environment, Evaluation, Outcome
from kernelgauge.schema.problem import Sizes

_ELSEWHERE = {"kernelgauge", "platform", "memory_gb"}
"""Fields of an environment in which two may differ and the figures of one still hold for the other."""
_BESIDE_A_GPU = {"cores", "threads"}
"""The same where a GPU computes: one core launches, however many there are."""


class Measured(Record):
    """Times of a mode that was right, in milliseconds, and its ratio over eager from interleaved calls."""

    milliseconds: float
    speedup: float
    """Time of eager over time of this mode."""
    interval: tuple[float, float]
    confidence: float
    eager_ms: float
    """Eager in the same interleaved calls: by it a later evaluation sees whether the machine is still the same."""
    eager_interval_ms: tuple[float, float]

    @model_validator(mode="after")
    def _consistent(self) -> Measured:
        if not 0 < self.milliseconds < math.inf:
            raise ValueError("a time must be above zero and finite")
        for name, value, (low, high) in (
            ("speedup", self.speedup, self.interval),
            ("eager_ms", self.eager_ms, self.eager_interval_ms),
        ):
            if not 0 < low <= value <= high < math.inf:
                raise ValueError(f"{name} {value} is not inside its interval ({low}, {high})")
        if not 0.5 < self.confidence < 1:
            raise ValueError(f"confidence {self.confidence} is not between 0.5 and 1")
        return self


class Baseline(Record):
    """One mode of PyTorch on one problem; a mode that fails or is wrong is recorded like one that passed."""

    format: int = FORMAT
    created: datetime
    problem: str
    level: int | None
    problem_name: str
    problem_digest: str
    sizes: Sizes
    device: str
    protocol: str
    protocol_digest: str
    math: str | None
    """Arithmetic of both sides; see `config.MathMode`."""
    environment: Environment
    mode: Mode
    outcome: Outcome
    reason: str = ""
    measured: Measured | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Baseline:
        passed = self.outcome is Outcome.PASSED
        if passed != (self.measured is not None):
            raise ValueError("a mode that passed has a time, and no other has")
        if passed == bool(self.reason):
            raise ValueError("a mode that did not pass needs a reason, and no other has one")
        return self

    @property
    def conditions(self) -> str:
        """All that must be equal for this figure to hold; see `conditions`."""
        return conditions(self)


def setting(sizes: Sizes, device: str, protocol_digest: str, environment: Environment) -> str:
    """Digest of what decides a time beside the problem: sizes, device, protocol, the machine with its software.

    Left out are kernelgauge's own version (the protocol's digest stands for the rules), the kernel's release, the
    amount of memory and, on a GPU, the count of cores. Whether it is as fast as it was is seen from eager's time.
    """
    left_out = _ELSEWHERE if device == "cpu" else _ELSEWHERE | _BESIDE_A_GPU
    machine = environment.model_dump_json(exclude=left_out)
    return digest("\n".join((sizes, device, protocol_digest, machine)))


def conditions(record: Baseline | Evaluation) -> str:
    """The problem's text and the setting: what two figures must share to be compared."""
    where = setting(record.sizes, record.device, record.protocol_digest, record.environment)
    return f"{record.problem_digest}-{where}"

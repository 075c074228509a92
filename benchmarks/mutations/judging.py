"""Candidates through the real evaluator, and what is kept of each verdict."""

from __future__ import annotations

import math
from typing import Any

from kernelgauge.errors import KernelgaugeError
from kernelgauge.schema import Evaluation, Problem
from kernelgauge.session.session import Session

PROTOCOLS = ("strict", "v0.1")


def judged(session: Session, problem: Problem, text: str, protocol: str, device: str, backend: str) -> dict[str, Any]:
    """The verdict on one candidate, untimed, as a row's part; `failed` where the machine or the problem did."""
    try:
        record = session.evaluate(problem, text, backend=backend, protocol=protocol, device=device, timed=False)
    except KernelgaugeError as error:
        return {"outcome": "failed", "reason": str(error)[:300]}
    return kept(record)


def kept(record: Evaluation) -> dict[str, Any]:
    """What of a record the figures need."""
    closest = max(record.trials, key=lambda trial: trial.error / trial.allowed, default=None)
    found: dict[str, Any] = {
        "outcome": record.outcome.value,
        "reason": record.reason[:300],
        "weight_sync": record.weight_sync,
        "scored": record.scored,
        "trivial_answers": list(record.trivial_answers),
        "seconds": round(sum(record.seconds.values()), 3),
    }
    if closest is not None:
        used = {
            "variant": closest.variant,
            "error": closest.error,
            "allowed": closest.allowed,
            "worst": closest.worst,
            "eager_error": closest.reference_error,
        }
        found["closest"] = {
            name: "inf" if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in used.items()
        }
    return found

"""Rows of a data set of forecasts, for tests of what reads them."""

from __future__ import annotations

from typing import Any

from kernelgauge.schema import Work, digest
from kernelgauge.schema.forecast import Comparison, Side

H100, H200 = "NVIDIA H100 80GB HBM3", "NVIDIA H200"


def make_row(
    problem: str = "1/1", speedup: float | None = 2.0, spread: float = 0.01, source: str = "", **changes: Any
) -> Comparison:
    """A kernel against its reference; without a speedup, one that was wrong."""
    text = source or f"class ModelNew: ...  # {problem} {speedup}\n"
    gpu, contestant = changes.get("gpu", H200), changes.pop("contestant", "inductor")
    values: dict[str, Any] = {
        "id": digest(f"{problem}|{text}|{gpu}|{contestant}|{changes.get('kind', '')}"),
        "kind": "reference",
        "problem": problem,
        "problem_name": "softmax",
        "problem_digest": "fedcba9876543210",
        "level": 1,
        "sizes": "full",
        "math": "ieee",
        "protocol": "strict",
        "gpu": gpu,
        "anchor": Side(contestant="reference", backend="torch", digest="r", source=f"class Model: ... # {problem}"),
        "candidate": Side(contestant=contestant, backend="triton", digest=digest(text), source=text),
        "anchor_ms": 2.0,
        "work": Work(flops=2_000_000, inputs=400_000, parameters=0, outputs=100_000),
        "bound_ms": 0.5,
        "outcome": "passed" if speedup else "wrong_value",
        "speedup": speedup,
        "interval": (speedup * (1 - spread), speedup * (1 + spread)) if speedup else None,
    }
    return Comparison(**{**values, **changes})

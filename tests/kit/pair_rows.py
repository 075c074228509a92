"""Rows of pairs as `pairs make` would write them."""

from __future__ import annotations

from typing import Any

from factories import REFERENCE, make_environment, make_evaluation

from kernelgauge.config import load_protocol
from kernelgauge.pairs.module import Module, Provenance
from kernelgauge.pairs.row import Row, row_of
from kernelgauge.schema import Candidate, Nearest

RULES = load_protocol("strict")
KERNEL = """import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x.clamp(min=0) * 2 + 1
"""


def make_module(name: str = "scaled", source: str = REFERENCE, **changes: Any) -> Module:
    values: dict[str, Any] = {
        "name": name,
        "source": source,
        "sizes": {},
        "domains": {"x": "real"},
        "tags": ("fusion",),
        "provenance": Provenance(kind="recipe", origin="recipe fusion, seed 1, number 0", licence="MIT"),
        "nearest": Nearest(problem="1/19", name="relu", distance=0.4),
    }
    return Module(**{**values, **changes})


def make_row(name: str = "a", how: Any = "compiler", source: str = KERNEL, math: str = "ieee", **record: Any) -> Row:
    """A positive row; with another `outcome` a negative one."""
    candidate = Candidate(problem="scaled", source=source, backend="torch")
    rules = RULES.under(math)  # type: ignore[arg-type]
    judged = make_evaluation(
        "1/1",
        **{
            "device": "cpu",
            "environment": make_environment(gpu=None),
            "protocol_digest": rules.digest,
            "math": math,
            "kernel_policy": "default",
            "candidate_digest": candidate.digest,
            **record,
        },
    )
    return row_of(name, make_module(), "f" * 16, candidate, judged, rules, how)

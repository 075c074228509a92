"""Arithmetic modes through the real evaluator, on a CPU: both sides alike, and a narrower type refused."""

from __future__ import annotations

import pytest
import torch

from kernelgauge.config import MathMode, load_protocol
from kernelgauge.schema import Evaluation, Outcome, Problem
from kernelgauge.session.session import Session
from kernelgauge.wire.math_modes import cast, roundoff

pytestmark = pytest.mark.processes

GEMM = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x, index):
        assert not index.is_floating_point() and x.dtype == self.linear.weight.dtype
        return torch.relu(self.linear(x)) + 0 * index[:, None]


def get_inputs():
    return [torch.randn(64, 128), torch.randint(0, 5, (64,))]


def get_init_inputs():
    return [128]
"""
COPY = GEMM.replace("class Model(", "class ModelNew(")


def judged(session: Session, math: MathMode, source: str) -> Evaluation:
    problem = Problem(key="gemm", name="gemm", source=GEMM)
    return session.evaluate(problem, source, protocol=load_protocol("strict").under(math=math), timed=False)


@pytest.mark.parametrize("math", ["fp16", "bf16"])
def test_parameters_and_float_inputs_are_cast_and_integers_stay(session: Session, math: MathMode) -> None:
    record = judged(session, math, COPY)
    assert record.outcome is Outcome.PASSED, record.reason
    assert record.math == math == record.summary()["math"]
    errors = [trial.reference_error for trial in record.trials]
    assert 0.05 * roundoff(math) < max(errors) < 4 * roundoff(math)


@pytest.mark.parametrize(("math", "narrower"), [("ieee", "float16"), ("fp16", "bfloat16")])
def test_a_narrower_type_is_refused(session: Session, math: MathMode, narrower: str) -> None:
    cheaper = f"self.linear.to(torch.{narrower})(x.to(torch.{narrower})).to(x.dtype)"
    source = COPY.replace("self.linear(x)", cheaper)
    # The cast of the parameters in place would trip the assertion of the next call.
    source = source.replace("assert not", "x = x + 0\n        assert True or not")
    record = judged(session, math, source)
    assert record.outcome is Outcome.WRONG_PRECISION, (record.outcome, record.reason)


def test_what_is_not_float32_stays() -> None:
    model = torch.nn.BatchNorm1d(3)
    assert cast(model, "bf16").running_mean.dtype == torch.bfloat16
    assert model.num_batches_tracked.dtype == torch.int64
    assert cast(torch.zeros(2, dtype=torch.int32), "fp16").dtype == torch.int32
    assert cast(torch.zeros(2), "tf32").dtype == torch.float32
    assert cast("text", "fp16") == "text"

"""A float64 run gets the random numbers that a forward draws in its own precision."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from kernelgauge.schema import Problem
from kernelgauge.session.session import Session
from kernelgauge.worker.same_draws import SameDraws

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
DRAWS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "dropout": lambda x: torch.nn.functional.dropout(x, 0.3),
    "all dropped": lambda x: torch.nn.functional.dropout(x, 1.0),
    "dropout of channels": lambda x: torch.nn.functional.dropout2d(x[None], 0.3),
    "like": lambda x: x + torch.rand_like(x) * torch.randn_like(x),
    "of a shape": lambda x: x + torch.rand(x.shape, device=x.device),
    "in place": lambda x: x * torch.empty_like(x).bernoulli_(0.4) + torch.empty_like(x).exponential_(),
    "of probabilities": lambda x: torch.bernoulli(x),
}
DROPOUT = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(512, 256)
        self.dropout = nn.Dropout(0.2)

    def forward(self, x):
        return torch.softmax(self.dropout(self.linear(x)), dim=1)


def get_inputs():
    return [torch.rand(128, 512)]


def get_init_inputs():
    return []
"""


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("draws", DRAWS.values(), ids=DRAWS)
def test_a_float64_run_draws_as_the_forward_does(
    draws: Callable[[torch.Tensor], torch.Tensor], dtype: torch.dtype, device: str
) -> None:
    x = torch.rand(6, 40, 50, device=device).to(dtype)
    torch.manual_seed(7)
    own = draws(x)
    torch.manual_seed(7)
    torch.set_default_dtype(torch.float64)
    try:
        with torch.no_grad(), SameDraws(dtype):
            exact = draws(x.double())
    finally:
        torch.set_default_dtype(torch.float32)
    assert exact.dtype is torch.float64
    eps = torch.finfo(dtype).eps
    torch.testing.assert_close(own.double(), exact, rtol=8 * eps, atol=2 * eps)


def test_types_that_a_forward_asks_for_stay() -> None:
    x = torch.rand(4, 4)
    with SameDraws(torch.bfloat16):
        assert torch.rand_like(x).dtype is torch.float32
        assert torch.rand(3, dtype=torch.float16).dtype is torch.float16
        assert torch.rand_like(x.double(), dtype=torch.float32).dtype is torch.float32
        assert torch.nn.functional.dropout(x, 0.5).dtype is torch.float32


@pytest.mark.processes
@pytest.mark.parametrize("device", DEVICES)
def test_a_reference_with_dropout_has_a_right_answer_in_float64(device: str, cache_folder: Path) -> None:
    problem = Problem(key="own", name="own", source=DROPOUT)
    with Session(device=device) as session:
        record = session.evaluate(problem, DROPOUT.replace("class Model(", "class ModelNew("), timed=False)
    assert record.passed and record.scored, record.reason
    assert not [note for note in record.notes if "stands in" in note], record.notes
    assert all(0 < trial.reference_error < 3e-6 for trial in record.trials if trial.variant == "own")

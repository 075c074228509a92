"""Operators that make a model slower stay out of its package."""

from __future__ import annotations

import random
from collections.abc import Collection
from pathlib import Path

import pytest
from handmade import handmade, kernel

from kernelgauge.packaging.hindering import hindering
from kernelgauge.packaging.measuring import measured

MODEL = """
import torch
from torch import nn


class Wave(nn.Module):
    def forward(self, x):
        return torch.tanh(torch.sin(x) * 2.0)


class There(nn.Module):
    def forward(self, x):
        return torch.log(torch.exp(torch.log(torch.exp(torch.log(torch.exp(x))))))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.Sequential(Wave(), There(), Wave())

    def forward(self, x):
        return self.parts(x)


def get_inputs():
    return [torch.rand(512, 512)]


def get_init_inputs():
    return []
"""


def times(costs: dict[str, float], scatter: float = 0.002) -> object:
    """A model of 10 ms in which each operator costs so many more, or fewer."""
    draw = random.Random(0)

    def once(without: Collection[str]) -> float:
        own = sum(cost for name, cost in costs.items() if name not in without)
        return (10 + own) * draw.gauss(1, scatter)

    return lambda without, those: ([once(without) for _ in range(15)], [once(those) for _ in range(15)])


def test_what_makes_a_model_slower_goes_and_the_worst_first() -> None:
    found = hindering(["a", "b", "c"], times({"a": 0.5, "b": -3.0, "c": 2.0}))  # type: ignore[arg-type]
    assert list(found) == ["c", "a"]
    assert found["c"].low <= 9.5 / 11.5 * 1.03 and found["c"].high < 0.9
    assert str(found["a"]).startswith("0.9")


def test_what_cannot_be_told_stays() -> None:
    assert not hindering(["a", "b"], times({"a": 0.01, "b": -1.0}, scatter=0.02))  # type: ignore[arg-type]
    assert not hindering([], times({}))  # type: ignore[arg-type]


def test_several_that_cost_a_little_each_go_together() -> None:
    costs = {str(n): 0.06 for n in range(8)}
    found = hindering(list(costs), times(costs, scatter=0.006))  # type: ignore[arg-type]
    assert set(found) == set(costs)


@pytest.mark.processes
def test_a_model_is_measured_without_them(tmp_path: Path) -> None:
    wave, there = (
        "torch.tanh(torch.sin(x) * 2.0)",
        "torch.log(torch.exp(torch.log(torch.exp(torch.log(torch.exp(x))))))",
    )
    given = "[torch.rand(512, 512)]"
    slow = kernel(wave, f"[{wave} for _ in range(12)][0]", given)
    handmade(tmp_path, "hindering_kernels", {"wave": [slow], "there": [kernel(there, "x * 1.0", given)]})
    path = tmp_path / "model.py"
    path.write_text(MODEL)
    asked = {"path": str(path), "device": "cpu", "folder": str(tmp_path), "name": "hindering_kernels"}
    found = measured({**asked, "pairs": 15})
    assert list(found["hinders"]) == ["wave"], found["hinders"]
    assert [swap["module"] for swap in found["swaps"]] == ["parts.1"]
    assert found["counters"] == {"wave": {"hits": 0, "misses": {}}, "there": {"hits": 17, "misses": {}}}
    assert sorted(found["after_ms"])[7] < sorted(found["before_ms"])[7] and found["error"] < 1e-5

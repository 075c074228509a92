"""Operators that make a model slower stay out of its package."""

from __future__ import annotations

import random
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest
from handmade import handmade, kernel

from kernelgauge.packaging.hindering import hindering, measurements
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


@pytest.mark.parametrize("costs", [{"a": 1.0, "b": -0.3}, {"a": 0.4}])
def test_without_time_all_of_them_go_or_none_does(costs: dict[str, float]) -> None:
    assert set(hindering(list(costs), times(costs), one_by_one=False)) == set(costs)  # type: ignore[arg-type]
    better = {name: -cost for name, cost in costs.items()}
    assert not hindering(list(better), times(better), one_by_one=False)  # type: ignore[arg-type]


def test_no_more_is_measured_than_was_said() -> None:
    count = 0
    of = times({str(n): 1.0 for n in range(5)})

    def counted(*asked: Collection[str]) -> object:
        nonlocal count
        count += 1
        return of(*asked)  # type: ignore[operator]

    assert len(hindering([str(n) for n in range(5)], counted)) == 5  # type: ignore[arg-type]
    assert count <= measurements(5)


@pytest.mark.processes
@pytest.mark.nightly
def test_a_model_says_what_hinders_it(tmp_path: Path) -> None:
    """Nightly, since it goes by time: one kernel does its work twelve times, one leaves out most of it."""
    wave = "torch.tanh(torch.sin(x) * 2.0)"
    there = "torch.log(torch.exp(torch.log(torch.exp(torch.log(torch.exp(x))))))"
    given = "[torch.rand(512, 512)]"
    slow = kernel(wave, f"[{wave} for _ in range(12)][0]", given)
    handmade(tmp_path, "hindering_kernels", {"wave": [slow], "there": [kernel(there, "x * 1.0", given)]})
    found = _measured(tmp_path, "hindering_kernels", MODEL)
    assert list(found["hinders"]) == ["wave"], found["hinders"]
    assert found["hinders"]["wave"].startswith("makes the whole model slower: 0.")
    assert [swap["module"] for swap in found["swaps"]] == ["parts.0", "parts.1", "parts.2"]
    hits = {name: each["hits"] for name, each in found["counters"].items()}
    assert hits == {"wave": 2 * 17, "there": 17} and found["error"] < 1e-5
    assert found["arithmetic"] == {"products": "ieee", "convolutions": "ieee"}


@pytest.mark.processes
def test_what_answers_no_call_of_the_model_says_why(tmp_path: Path) -> None:
    """Its inputs lie otherwise in the model than where it was judged."""
    wave = "torch.tanh(torch.sin(x) * 2.0)"
    handmade(tmp_path, "missing_kernels", {"wave": [kernel(wave, wave, "[torch.rand(512, 512)]")]})
    found = _measured(tmp_path, "missing_kernels", MODEL.replace("self.parts(x)", "self.parts(x.t())"))
    assert found["hinders"] == {"wave": "answers no call of the model: its guard refuses them (strides)"}


def _measured(folder: Path, name: str, text: str) -> dict[str, Any]:
    path = folder / "model.py"
    path.write_text(text)
    asked = {"path": str(path), "device": "cpu", "math": None, "screen": True, "pairs": 15}
    return measured({**asked, "folder": str(folder), "name": name})

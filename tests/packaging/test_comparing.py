"""What is compared before a swap stands: infinities, draws, narrow types; and what is undone."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
import torch
from handmade import handmade, kernel
from torch import nn

from kernelgauge.packaging.runtime.comparing import close, tolerance_of

WIDE = "[torch.rand(2, 4)]"
NARROW = "[torch.rand((2, 4), dtype=torch.bfloat16)]"


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    logs = [
        kernel("torch.log(x).neg()", "torch.log(x).neg()", WIDE),
        kernel("torch.log(x).neg()", "torch.log(x.float()).neg().to(x.dtype) * 1.008", NARROW),
    ]
    product = kernel("torch.tanh(x) * y", "torch.tanh(x) * y", "[torch.rand(2, 4), torch.rand(2, 4)]")
    return handmade(tmp_path_factory.mktemp("compared"), "compared_kernels", {"log": logs, "product": [product]})


@pytest.fixture(autouse=True)
def _counted_anew(package: ModuleType) -> None:
    package.reset_counters()


class Log(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.log(x).neg()


class Answers(nn.Module):
    """The answer of a norm of a logarithm, made into anything."""

    def __init__(self, made: Callable[[torch.Tensor], Any]) -> None:
        super().__init__()
        self.log, self.made = Log(), made

    def forward(self, x: torch.Tensor) -> Any:
        return self.made(self.log(x))


def test_an_infinity_is_as_an_infinity(package: ModuleType) -> None:
    x = torch.rand(2, 4)
    x[0, 0] = 0.0
    assert [swap.operator for swap in package.apply(Answers(lambda y: -y), x).swaps] == ["log"]


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_infinities_by_their_sign(value: float) -> None:
    one = torch.tensor([1.0, value])
    assert close(one, one.clone(), 1e-3)
    assert not any(close(torch.tensor([1.0, other]), one, 1e-3) for other in (0.0, 1.0, -1.0, 2.0))
    if not math.isnan(value):
        assert not close(-one, one, 1e-3) and not close(torch.tensor([1.0, math.nan]), one, 1e-3)


def test_answers_of_another_form_are_others() -> None:
    x = torch.ones(2, 2)
    assert close((x, None), (x, None), 1e-3)
    assert not any(close(other, x, 1e-3) for other in (x[:1], x.double(), (x, x), None, 1.0))
    assert not close(None, None, 1e-3)


def test_nothing_is_swapped_where_nothing_is_compared(package: ModuleType) -> None:
    model = Answers(lambda y: {"text": "no tensor"})
    with pytest.warns(RuntimeWarning, match="has no tensor to compare: nothing was swapped"):
        assert package.apply(model, torch.rand(2, 4)).swaps == []
    assert "forward" not in vars(model.log)


def test_what_is_drawn_is_drawn_again(package: ModuleType) -> None:
    model = Answers(lambda y: nn.functional.dropout(y, 0.5))
    torch.manual_seed(3)
    wanted = torch.rand(3)
    torch.manual_seed(3)
    assert package.apply(model, torch.full((2, 4), 0.5)).swaps
    assert torch.equal(torch.rand(3), wanted), "the draws of its owner go on where they were"


def test_a_failure_undoes_everything(package: ModuleType) -> None:
    calls: list[int] = []

    def failing(y: torch.Tensor) -> torch.Tensor:
        calls.append(1)
        if len(calls) > 1:
            raise ValueError("the second time")
        return y

    model = Answers(failing)
    with pytest.raises(ValueError, match="the second time"):
        package.apply(model, torch.rand(2, 4))
    assert "forward" not in vars(model.log)


def test_a_narrow_type_has_room_for_its_rounding(package: ModuleType) -> None:
    model, x = Answers(lambda y: y).bfloat16(), torch.rand(2, 4).bfloat16()
    assert [swap.operator for swap in package.apply(model, x).swaps] == ["log"]
    with pytest.warns(RuntimeWarning, match="changed by more than the tolerance"):
        assert package.apply(Answers(lambda y: y), x, tolerance=1e-3).swaps == []
    assert tolerance_of(nn.Linear(2, 2), torch.rand(2)) == 1e-3
    assert tolerance_of(nn.Linear(2, 2).half(), torch.rand(2)) == 5e-3


class Chain(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
        return torch.tanh(torch.tanh(a) * b) * c + 1


def test_a_part_that_another_one_feeds(package: ModuleType) -> None:
    model, given = nn.ModuleDict({"chain": Chain()}), [torch.rand(2, 4) for _ in range(3)]
    applied = package.apply(model, run=lambda: model["chain"](*given))
    assert [swap.how for swap in applied.swaps] == ["pattern"]
    package.reset_counters()
    torch.testing.assert_close(model["chain"](*given), Chain()(*given))
    assert package.counters()["product"]["hits"] == 2


class Scaled(nn.Module):
    def forward(self, x: torch.Tensor, scale: Any = 1.0) -> torch.Tensor:
        return torch.log(x * 1).neg() if isinstance(scale, float) else torch.log(x).neg() * scale


def test_a_tensor_where_a_number_was(tmp_path_factory: pytest.TempPathFactory) -> None:
    made = kernel("torch.log(x * 1).neg()", "torch.log(x * 1).neg()", WIDE)
    package = handmade(tmp_path_factory.mktemp("scaled"), "scaled_kernels", {"log": [made]})
    model, x = nn.ModuleDict({"log": Scaled()}), torch.rand(2, 4) + 1
    assert package.apply(model, run=lambda: model["log"](x, 1.0)).swaps
    scale = torch.rand(2, 4)
    torch.testing.assert_close(model["log"](x, scale), torch.log(x).neg() * scale)
    assert package.counters()["log"]["misses"] == {"arguments": 1}

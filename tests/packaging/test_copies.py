"""Copies of a swapped model answer with their own weights; a pickled one has its own forward."""

from __future__ import annotations

import copy
import io
from types import ModuleType

import pytest
import torch
from handmade import handmade, kernel
from torch import nn

WEIGHT = "self.weight = torch.nn.Parameter(torch.ones(4, 4))"


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    scaled = kernel("torch.sin(x) @ self.weight", "torch.sin(x) @ self.weight", "[torch.rand(2, 4)]", own=WEIGHT)
    product = kernel("torch.tanh(x) * y", "torch.tanh(x) * y", "[torch.rand(2, 4), torch.rand(2, 4)]")
    out = tmp_path_factory.mktemp("copied")
    return handmade(out, "copied_kernels", {"scaled": [scaled], "product": [product]})


class Scaled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(4, 4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sin(x) @ self.weight


class Gate(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gate, self.up, self.shift = nn.Linear(4, 4), nn.Linear(4, 4), nn.Parameter(torch.rand(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(self.gate(x) + self.shift) * self.up(x)


@pytest.fixture
def model(package: ModuleType) -> nn.Module:
    torch.manual_seed(0)
    made = nn.Sequential(Scaled(), Gate()).eval()
    applied = package.apply(made, torch.rand(2, 4))
    assert [(swap.operator, swap.how) for swap in applied.swaps] == [("scaled", "graph"), ("product", "pattern")]
    package.reset_counters()
    return made


def plain(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    """By the classes' own forwards."""
    return Gate.forward(model[1], Scaled.forward(model[0], x))  # type: ignore[index]


def test_a_copy_has_its_own_weights(package: ModuleType, model: nn.Module) -> None:
    x, other = torch.rand(2, 4), copy.deepcopy(model)
    with torch.no_grad():
        before = model(x)
        for weight in other.parameters():
            weight.add_(1.0)
        other[1].shift = nn.Parameter(torch.rand(4))  # type: ignore[index]
        torch.testing.assert_close(other(x), plain(other, x))
        torch.testing.assert_close(model(x), before, rtol=0, atol=0)
    assert {name: each["hits"] for name, each in package.counters().items()} == {"scaled": 3, "product": 3}
    assert not torch.allclose(before, plain(other, x))


def test_new_weights_of_the_model_itself_are_seen(model: nn.Module) -> None:
    x = torch.rand(2, 4)
    model.load_state_dict({name: torch.rand_like(each) for name, each in model.state_dict().items()}, assign=True)
    model[1].up = nn.Linear(4, 4)  # type: ignore[index]
    with torch.no_grad():
        torch.testing.assert_close(model(x), plain(model, x))


def test_a_pickled_model_has_its_own_forward(package: ModuleType, model: nn.Module) -> None:
    x, file = torch.rand(2, 4), io.BytesIO()
    with pytest.warns(RuntimeWarning, match="is pickled with its own forward: apply the package again"):
        torch.save(model, file)
    file.seek(0)
    read = torch.load(file, weights_only=False)
    with torch.no_grad():
        for weight in read.parameters():
            weight.add_(1.0)
        torch.testing.assert_close(read(x), plain(read, x), rtol=0, atol=0)
    assert package.counters()["scaled"]["hits"] == 0
    assert package.apply(read, x).swaps


def test_a_swapped_model_compiles_as_a_whole(model: nn.Module, package: ModuleType) -> None:
    x = torch.rand(2, 4)
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    with torch.no_grad():
        torch.testing.assert_close(compiled(x), plain(model, x))
    assert package.counters()["scaled"]["hits"] == 1

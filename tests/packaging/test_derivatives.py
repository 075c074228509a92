"""Derivatives of every kind through an operator: those of PyTorch, or none that are wrong."""

from __future__ import annotations

from contextlib import nullcontext
from types import ModuleType

import pytest
import torch
from handmade import handmade, kernel
from torch.autograd import forward_ad


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    inputs = "[torch.rand((3, 4), dtype=torch.float64), torch.rand((3, 4), dtype=torch.float64)]"
    made = kernel("x.sin() * y * y", "x.sin() * y * y", inputs)
    return handmade(tmp_path_factory.mktemp("derived"), "derived_kernels", {"product": [made]})


@pytest.fixture
def call(package: ModuleType) -> tuple[torch.Tensor, torch.Tensor]:
    package.reset_counters()
    torch.manual_seed(0)
    return tuple(torch.rand((3, 4), dtype=torch.float64, requires_grad=True) for _ in range(2))  # type: ignore[return-value]


def test_gradients_of_gradients(package: ModuleType, call: tuple[torch.Tensor, ...]) -> None:
    operator = torch.ops.derived_kernels.product.default
    assert torch.autograd.gradcheck(operator, call) and torch.autograd.gradgradcheck(operator, call)
    with package.recomputing():
        assert torch.autograd.gradgradcheck(package.product, call)
    assert package.counters()["product"]["hits"] > 0


def test_an_argument_computed_from_another(package: ModuleType, call: tuple[torch.Tensor, ...]) -> None:
    x, _ = call
    with package.recomputing():
        (first,) = torch.autograd.grad(package.product(x, x * 2).sum(), x, create_graph=True)
        (second,) = torch.autograd.grad(first.sum(), x)
    (wanted,) = torch.autograd.grad((x.sin() * (x * 2) * (x * 2)).sum(), x, create_graph=True)
    torch.testing.assert_close(first, wanted)
    torch.testing.assert_close(second, torch.autograd.grad(wanted.sum(), x)[0])


def test_dual_tensors_keep_their_tangent(package: ModuleType, call: tuple[torch.Tensor, ...]) -> None:
    x, y = (each.detach() for each in call)
    for mode in (package.recomputing(), nullcontext()):
        with mode, forward_ad.dual_level():
            found = package.product(forward_ad.make_dual(x, torch.ones_like(x)), y)
            torch.testing.assert_close(forward_ad.unpack_dual(found).tangent, x.cos() * y * y)
    assert package.counters()["product"] == {"hits": 0, "misses": {"grad": 2}}
    assert package.operators["product"].ready((x, y)) is None


def test_a_trace_of_torch_jit_keeps_the_operator(package: ModuleType, call: tuple[torch.Tensor, ...]) -> None:
    x, y = (each.detach() for each in call)
    traced = torch.jit.trace(lambda a, b: package.product(a, b) + 1, (x, y))
    assert "derived_kernels::product" in str(traced.graph)
    package.reset_counters()
    torch.testing.assert_close(traced(x, y), x.sin() * y * y + 1)
    torch.testing.assert_close(traced(x[:2], y[:2]), x[:2].sin() * y[:2] * y[:2] + 1)
    assert package.counters()["product"] == {"hits": 1, "misses": {"shape": 1}}

"""Several variants of one operator: which kernel, and which reference, a call gets."""

from __future__ import annotations

from types import ModuleType

import pytest
import torch
from handmade import handmade, kernel

SIZES = {(2, 3): 2.0, (4, 5): 4.0}
"""By shape the factor of its reference: a test sees which one was asked."""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    kernels = [kernel(f"x.sin() * {f}", f"x.sin() * {f}", f"[torch.rand({s})]") for s, f in SIZES.items()]
    kernels.append(kernel("x.sin() * 8.0", "x.sin() * 8.0", "[torch.rand((2, 3), dtype=torch.float64)]"))
    return handmade(tmp_path_factory.mktemp("several"), "several_kernels", {"sines": kernels})


@pytest.fixture(autouse=True)
def _counted_anew(package: ModuleType) -> None:
    package.reset_counters()


@pytest.mark.parametrize(("shape", "factor"), SIZES.items())
def test_a_call_compiles_with_the_reference_of_its_shape(
    package: ModuleType, shape: tuple[int, int], factor: float
) -> None:
    x = torch.rand(shape, requires_grad=True)
    compiled = torch.compile(lambda given: package.sines(given) + 1, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(x), x.sin() * factor + 1)
    assert package.counters()["sines"] == {"hits": 1, "misses": {}}
    (gradient,) = torch.autograd.grad(compiled(x).sum(), x)
    torch.testing.assert_close(gradient, x.detach().cos() * factor)


@pytest.mark.parametrize(("shape", "factor"), SIZES.items())
def test_whatever_the_guard_refuses_the_reference_is_that_of_the_shape(
    package: ModuleType, shape: tuple[int, int], factor: float
) -> None:
    x = torch.rand(shape)
    transposed = torch.rand(shape[::-1]).t()
    for given in (x.requires_grad_(), transposed, x.detach().as_subclass(_Named)):
        torch.testing.assert_close(package.sines(given), given.sin() * factor)
    assert package.counters()["sines"] == {"hits": 0, "misses": {"grad": 1, "subclass": 1, "strides": 1}}
    wide = torch.rand(2, 3).double().t().contiguous().t()
    torch.testing.assert_close(package.sines(wide), wide.sin() * 8.0)


def test_at_other_shapes_the_first_reference_answers(package: ModuleType) -> None:
    x = torch.rand(7)
    torch.testing.assert_close(package.sines(x), x.sin() * 2.0)


class _Named(torch.Tensor):
    pass

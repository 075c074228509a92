"""The tests that are written beside a package, which need nothing of kernelgauge."""

from __future__ import annotations

from kernelgauge.packaging.contents import Contents

TESTS = '''"""Each kernel against its reference on this machine, and the operator against PyTorch's rules."""

from __future__ import annotations

import pytest
import torch

import {name}

CASES = [(name, number) for name, each in {name}.operators.items() for number in range(len(each.variants))]
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def tensors(found):
    return (found,) if isinstance(found, torch.Tensor) else tuple(found)


@pytest.fixture(params=CASES, ids=lambda case: f"{{case[0]}}-{{case[1]}}")
def case(request):
    name, number = request.param
    operator = {name}.operators[name]
    variant = operator.variants[number]
    if variant.device == "cuda" and not torch.cuda.is_available():
        pytest.skip("there is no GPU here")
    return operator, variant, variant.example()


def test_kernel_agrees_with_its_reference(case):
    operator, variant, arguments = case
    if reason := variant.build(variant.device):
        pytest.skip(f"the kernel is not used here: {{reason}}")
    before = operator.hits
    found = tensors(operator(*arguments))
    assert operator.hits == before + 1
    allowed = max(10 * variant.given["provenance"]["allowed"], 1e-5)
    for one, other in zip(found, variant.reference(arguments), strict=True):
        one, other = one.double(), other.detach().double()
        assert (one - other).square().mean().sqrt() <= allowed * other.square().mean().sqrt().clamp(min=1e-30)


def test_operator_keeps_the_rules(case):
    operator, _, arguments = case
    torch.library.opcheck(getattr(getattr(torch.ops, {name!r}), operator.name).default, tuple(arguments))


def test_other_types_go_to_the_reference(case):
    operator, variant, arguments = case
    wide = [a.double() if isinstance(a, torch.Tensor) and a.is_floating_point() else a for a in arguments]
    before = operator.misses["dtype"]
    for one, other in zip(tensors(operator(*wide)), variant.reference(wide), strict=True):
        torch.testing.assert_close(one, other, equal_nan=True)
    assert operator.misses["dtype"] == before + 1


def test_compiles_as_a_whole(case):
    operator, _, arguments = case
    compiled = torch.compile(lambda *given: operator(*given), fullgraph=True, backend="aot_eager")
    with torch.no_grad():
        for one, other in zip(tensors(compiled(*arguments)), tensors(operator(*arguments)), strict=True):
            torch.testing.assert_close(one, other)


def test_disabled_goes_to_the_reference(case):
    operator, _, arguments = case
    before = operator.misses["disabled"]
    with {name}.disabled():
        operator(*arguments)
    assert operator.misses["disabled"] == before + 1
'''


def tests_text(contents: Contents) -> str:
    """The package's own tests."""
    return TESTS.format(name=contents.name)

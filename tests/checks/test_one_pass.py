"""The sums of a distance in one pass on a GPU: the kernel compiles for each type, and agrees with the operators."""

from __future__ import annotations

import itertools
import math

import pytest
import torch

from kernelgauge.checks import numerics, one_pass
from kernelgauge.checks.numerics import distances

TYPES = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
PAIRS = list(itertools.product(TYPES, TYPES))


@pytest.mark.processes  # NVRTC, a compiler in this process
@pytest.mark.parametrize("architecture", ["sm_75", "sm_90", "sm_100"])
def test_it_compiles_for_every_pair_of_types(architecture: str) -> None:
    pytest.importorskip("nvidia.cu13", reason="needs the extra cuda")
    for got, due in PAIRS if architecture == "sm_90" else PAIRS[:1]:
        one_pass.kernel_for(got, due, f"--gpu-architecture={architecture}").compile()


def test_a_cpu_has_the_operators() -> None:
    assert one_pass.totals(torch.ones(3), torch.ones(3)) is None


@pytest.mark.gpu
@pytest.mark.parametrize(("got", "due"), PAIRS)
@pytest.mark.parametrize("count", [1, 1000, 5_000_001])
def test_the_sums_are_those_of_the_operators(got: torch.dtype, due: torch.dtype, count: int) -> None:
    torch.manual_seed(count)
    expected = torch.randn(count, device="cuda").to(due)
    output = (expected.double() + 0.01 * torch.randn(count, device="cuda", dtype=torch.float64)).to(got)
    fast, slow = one_pass.totals(output, expected), numerics._totals(output, expected)
    assert fast is not None and fast.mismatch_at is None and fast.skipped == 0
    assert fast.squared_error == pytest.approx(slow.squared_error, rel=1e-5)
    assert fast.squared_due == pytest.approx(slow.squared_due, rel=1e-9)
    assert fast.worst == pytest.approx(slow.worst, rel=1e-5)
    here, there = ((output.double() - expected.double()).abs()[at].item() for at in (fast.worst_at, slow.worst_at))
    assert here == pytest.approx(there, rel=1e-5)


@pytest.mark.gpu
@pytest.mark.parametrize(("got", "due"), PAIRS)
def test_what_is_not_finite_counts_as_by_the_operators(got: torch.dtype, due: torch.dtype) -> None:
    expected = torch.randn(100_000, device="cuda").to(due)
    expected[7], expected[70_000], expected[99_999] = math.inf, math.nan, -math.inf
    output = expected.to(got, copy=True)
    fast, slow = one_pass.totals(output, expected), numerics._totals(output, expected)
    assert fast is not None
    assert (fast.skipped, fast.mismatch_at) == (slow.skipped, slow.mismatch_at) == (3, None)
    assert fast.squared_due == pytest.approx(slow.squared_due, rel=1e-9) and fast.squared_due < math.inf
    output[70_001], output[50] = math.nan, math.inf
    assert one_pass.totals(output, expected).mismatch_at == 50  # type: ignore[union-attr]
    assert distances([output], [expected])[0].rms == math.inf
    output[50], output[7] = expected[50].to(got), -math.inf
    assert one_pass.totals(output, expected).mismatch_at == 7  # type: ignore[union-attr]

"""What a text names: own kernels, shared memory, tensor cores, wide loads."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelgauge.backends.registry import detect
from kernelgauge.checks.source.traits import operators, traits
from kernelgauge.problems.loader import load_problem

CUDA = '''
"""Says __shared__ and wmma here, which counts for nothing."""
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
// __shared__ float4 in a comment
#include <cuda_runtime.h>
__global__ void one(const float* x, float* y, int n) {
    __shared__ float tile[256];
    const float4 four = reinterpret_cast<const float4*>(x)[threadIdx.x];
    for (int i = 0; i < n; ++i) { tile[i] = __shfl_down_sync(~0u, four.x, 1); }
    atomicAdd(y, tile[0]);
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {}, {}, {}, {};");
}
__global__ void two(float* y) { y[0] = 1.0f; }
"""
built = load_inline(name="k", cpp_sources="", cuda_sources=SOURCE, functions=["one"])
'''

TRITON = """
import torch
import triton
import triton.language as tl


@triton.autotune(configs=[], key=[])
@triton.jit
def kernel(x, y, BLOCK: tl.constexpr):
    a = tl.load(x + tl.arange(0, BLOCK))
    tl.store(y, tl.dot(a, a))
    tl.atomic_add(y, tl.dot(a, a, input_precision="ieee"))


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.matmul(x, x)
"""


def test_cuda_by_its_tokens() -> None:
    found = traits(CUDA)
    assert found.readable
    assert (found.kernels, found.shared_memory, found.wide_loads) == (2, 1, 2)
    assert (found.tensor_cores, found.warp_shuffles, found.atomics, found.loops) == (1, 1, 1, 1)


def test_triton_by_its_tree_and_products_in_ieee_arithmetic_need_no_tensor_cores() -> None:
    found = traits(TRITON)
    assert (found.kernels, found.tensor_cores, found.atomics, found.autotuning) == (1, 1, 1, 1)
    assert found.library_calls == 1
    assert (found.shared_memory, found.wide_loads) == (0, 0)


def test_kernels_that_stand_in_a_text_as_text_are_read() -> None:
    assert traits(f"async_compile.triton('kernel', '''{TRITON}''')").kernels == 1


def test_what_is_no_python_has_a_size_alone() -> None:
    found = traits("this is no ( python")
    assert (found.readable, found.kernels, found.lines) == (False, 0, 1)


def test_operators_of_a_reference() -> None:
    assert operators(load_problem("1/19").source) == 1
    assert operators(load_problem("2/1").source) >= 3


EXAMPLES = Path("src/kernelgauge/backends/examples")


@pytest.mark.parametrize(
    "path",
    sorted({*Path("examples").glob("*_*.py"), *EXAMPLES.rglob("*.py")} - set(EXAMPLES.rglob("reference.py"))),
    ids=str,
)
def test_every_example_with_kernels_defines_one(path: Path) -> None:
    source = path.read_text()
    found = traits(source)
    assert (found.kernels > 0) == (detect(source) not in ("cpp", "torch"))

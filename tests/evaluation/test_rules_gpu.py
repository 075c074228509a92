"""On a GPU the kernels that were launched say whose they are."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kernelgauge.schema import Evaluation, Outcome, Problem
from kernelgauge.session.session import Session

pytestmark = pytest.mark.gpu

REFERENCE = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.softmax(torch.relu(x - 0.5) * x, dim=-1)


def get_inputs():
    return [torch.rand(4096, 1024)]


def get_init_inputs():
    return []
"""

RAW = '''
import torch

from kernelgauge.kernels import cuda_kernel

CUDA = r"""
template <int THREADS>
__global__ void gated(const float* __restrict__ x, float* __restrict__ y, long long count) {
    const long long i = blockIdx.x * static_cast<long long>(THREADS) + threadIdx.x;
    if (i < count) y[i] = fmaxf(x[i] - 0.5f, 0.0f) * x[i];
}
"""
gated = cuda_kernel(CUDA, "gated<256>")


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        gated((x.numel() + 255) // 256, 256, x, y, x.numel())
        return torch.softmax(y, dim=-1)
'''

TRITON = """
import torch
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"BLOCK": size}) for size in (512, 1024)], key=["count"])
@triton.jit
def gated(x_ptr, y_ptr, count, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < count
    x = tl.load(x_ptr + offsets, mask=inside, other=0.0)
    tl.store(y_ptr + offsets, tl.maximum(x - 0.5, 0.0) * x, mask=inside)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        gated[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, y, x.numel())
        return torch.softmax(y, dim=-1)
"""

INLINE = '''
import torch
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/types.h>
#include <ATen/cuda/CUDAContext.h>

namespace {
template <typename T>
__global__ void gated(const T* x, T* y, int64_t count) {
    const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
    if (i < count) y[i] = fmaxf(x[i] - T(0.5), T(0)) * x[i];
}
}

torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    gated<float><<<(x.numel() + 255) / 256, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}
"""
kernels = load_inline(
    name="gated", cpp_sources="torch::Tensor run(torch::Tensor x);", cuda_sources=CUDA, functions=["run"]
)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(kernels.run(x), dim=-1)
'''

GRAPH = TRITON.replace(
    """        y = torch.empty_like(x)
        gated[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, y, x.numel())
        return torch.softmax(y, dim=-1)
""",
    """        if not hasattr(self, "graph"):
            self.x, self.y = torch.empty_like(x), torch.empty_like(x)
            self.run()
            torch.cuda.synchronize()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.run()
        self.x.copy_(x)
        self.graph.replay()
        return torch.softmax(self.y, dim=-1)

    def run(self):
        gated[lambda meta: (triton.cdiv(self.x.numel(), meta["BLOCK"]),)](self.x, self.y, self.x.numel())
""",
)

# A kernel for show: it runs on one element, and PyTorch does the work.
FOR_SHOW = RAW.replace(
    """        y = torch.empty_like(x)
        gated((x.numel() + 255) // 256, 256, x, y, x.numel())
        return torch.softmax(y, dim=-1)
""",
    """        gated(1, 256, x, torch.empty_like(x), 1)
        return torch.softmax(torch.relu(x - 0.5) * x, dim=-1)
""",
)

# Defines kernels by the names of those that PyTorch will launch, and launches none.
DECOY = INLINE.replace("gated", "softmax_warp_forward").replace(
    "return torch.softmax(kernels.run(x), dim=-1)", "return torch.softmax(torch.relu(x - 0.5) * x, dim=-1)"
)

# More shared memory than there is: the launch fails, and PyTorch does the work.
FALLS_BACK = RAW.replace(
    """        y = torch.empty_like(x)
        gated((x.numel() + 255) // 256, 256, x, y, x.numel())
        return torch.softmax(y, dim=-1)
""",
    """        try:
            y = torch.empty_like(x)
            gated((x.numel() + 255) // 256, 256, x, y, x.numel(), shared=1 << 24)
        except Exception:
            y = torch.relu(x - 0.5) * x
        return torch.softmax(y, dim=-1)
""",
)

PLAIN = REFERENCE.replace("class Model(", "class ModelNew(").split("def get_inputs")[0]


@pytest.fixture(scope="module")
def gpu_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KERNELGAUGE_CACHE", str(tmp_path_factory.mktemp("gpu-cache")))
        with Session() as session:
            yield session


def judged(session: Session, source: str, kernel_policy: str = "kernel-required") -> Evaluation:
    problem = Problem(key="own", name="own", source=REFERENCE)
    return session.evaluate(problem, source, device="cuda", timed=False, kernel_policy=kernel_policy)


@pytest.mark.parametrize("source", [RAW, TRITON, INLINE, GRAPH], ids=["raw", "triton", "inline", "graph"])
def test_an_own_kernel_is_known_for_what_it_is(gpu_session: Session, source: str) -> None:
    record = judged(gpu_session, source)
    assert record.outcome is Outcome.PASSED, record.reason
    assert record.findings == ()
    assert record.executed is not None and record.executed.own_share is not None
    assert [each.name.partition("<")[0] for each in record.executed.own] == ["gated"]
    assert any("softmax" in each.name for each in record.executed.others)
    assert 0.05 < record.executed.own_share < 0.95


@pytest.mark.parametrize("source", [PLAIN, DECOY], ids=["plain", "decoy"])
def test_libraries_alone_are_refused_where_an_own_kernel_must_run(gpu_session: Session, source: str) -> None:
    record = judged(gpu_session, source)
    assert (record.outcome, record.rule) == (Outcome.REJECTED, "no_own_kernel"), record.reason
    assert record.executed is not None and record.executed.own == () and len(record.executed.others) >= 2
    assert judged(gpu_session, source, "default").outcome is Outcome.PASSED


def test_a_kernel_for_show_is_left_for_review(gpu_session: Session) -> None:
    record = judged(gpu_session, FOR_SHOW)
    assert record.outcome is Outcome.PASSED, record.reason
    assert record.executed is not None and record.executed.own_share is not None and record.executed.own_share < 0.05
    assert [(each.rule, each.severity) for each in record.findings] == [("no_own_kernel", "review")]


def test_a_fallback_that_runs_is_refused(gpu_session: Session) -> None:
    record = judged(gpu_session, FALLS_BACK, "default")
    assert (record.outcome, record.rule) == (Outcome.REJECTED, "torch_fallback"), record.reason
    assert "aten::relu" in record.findings[0].evidence
    unused = FALLS_BACK.replace(", shared=1 << 24", "")
    assert judged(gpu_session, unused, "default").outcome is Outcome.PASSED


def test_a_compiled_graph_is_refused(gpu_session: Session) -> None:
    source = PLAIN.replace("    def forward", "    @getattr(torch, 'com' + 'pile')\n    def forward")
    record = judged(gpu_session, source, "default")
    assert (record.outcome, record.rule) == (Outcome.REJECTED, "torch_compile"), record.reason
    assert judged(gpu_session, source, "any").outcome is Outcome.PASSED

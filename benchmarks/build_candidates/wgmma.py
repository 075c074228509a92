"""An instruction that only sm_90a has: it builds because the evaluator compiles for the GPU at hand."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
#include <cuda_bf16.h>

__global__ void fenced_copy(const __nv_bfloat16* x, __nv_bfloat16* y, int size) {
    asm volatile("wgmma.fence.sync.aligned;\n" ::: "memory");
    asm volatile("wgmma.commit_group.sync.aligned;\n" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;\n" ::: "memory");
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < size) y[i] = x[i];
}

torch::Tensor copy(torch::Tensor x) {
    auto y = torch::empty_like(x);
    fenced_copy<<<(x.numel() + 127) / 128, 128>>>(reinterpret_cast<const __nv_bfloat16*>(x.data_ptr<at::BFloat16>()),
                                                  reinterpret_cast<__nv_bfloat16*>(y.data_ptr<at::BFloat16>()), x.numel());
    return y;
}
"""

CPP = r"""
torch::Tensor copy(torch::Tensor x);
"""

kernels = load_inline(
    name="wgmma",
    cpp_sources=CPP,
    cuda_sources=CUDA,
    functions=["copy"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return kernels.copy(x.bfloat16()).float()

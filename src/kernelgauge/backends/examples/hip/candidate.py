import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

# The evaluator names the GPU's architecture to hipcc. PyTorch's streams keep their CUDA names with ROCm, and its build
# of an extension puts HIP's names in their place.
HIP = r"""
#include <hip/hip_runtime.h>
#include <torch/types.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>

constexpr int THREADS = 256;  // four wavefronts of 64

__global__ void residual_kernel(const float* x, const float* branch, const float* gain, float* y, long count, int columns) {
    const long i = static_cast<long>(blockIdx.x) * THREADS + threadIdx.x;
    if (i < count) y[i] = x[i] + branch[i] * gain[i % columns];
}

torch::Tensor residual(torch::Tensor x, torch::Tensor branch, torch::Tensor gain) {
    auto y = torch::empty_like(x);
    const long count = x.numel();
    // On PyTorch's own stream, which is the one that is timed.
    residual_kernel<<<(count + THREADS - 1) / THREADS, THREADS, 0, c10::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), branch.data_ptr<float>(), gain.data_ptr<float>(), y.data_ptr<float>(), count, x.size(-1));
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}
"""

kernels = load_inline(
    name="residual",
    cpp_sources="torch::Tensor residual(torch::Tensor x, torch::Tensor branch, torch::Tensor gain);",
    cuda_sources=HIP,
    functions=["residual"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    """A residual sum in one pass over memory."""

    def __init__(self, features: int):
        super().__init__()
        # The same parameters in the same order as the reference: one seed gives both the same values.
        self.gain = nn.Parameter(torch.ones(features))

    def forward(self, x: torch.Tensor, branch: torch.Tensor) -> torch.Tensor:
        return kernels.residual(x.contiguous(), branch.contiguous(), self.gain)

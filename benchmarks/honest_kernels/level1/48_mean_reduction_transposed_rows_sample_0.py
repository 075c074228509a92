# PyTorch moves the dimension to the end and copies; an own kernel reduces contiguous rows with shuffles.
# style: library, shuffle
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

mean_source = r"""
#include <torch/extension.h>
#include <c10/cuda/CUDAStream.h>

__global__ void row_mean(const float* __restrict__ x, float* __restrict__ out, int64_t cols) {
    const float* row = x + blockIdx.x * cols;
    float sum = 0.f;
    for (int64_t i = threadIdx.x; i < cols; i += blockDim.x) sum += row[i];
    for (int o = 16; o > 0; o >>= 1) sum += __shfl_down_sync(0xffffffff, sum, o);
    __shared__ float warps[4];
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = (warps[0] + warps[1] + warps[2] + warps[3]) / cols;
}

torch::Tensor row_mean_cuda(torch::Tensor x) {
    const int64_t cols = x.size(-1), rows = x.numel() / cols;
    auto out = torch::empty({rows}, x.options());
    row_mean<<<rows, 128, 0, c10::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), out.data_ptr<float>(), cols);
    return out;
}
"""

ext = load_inline(
    name="row_mean",
    cpp_sources="torch::Tensor row_mean_cuda(torch::Tensor x);",
    cuda_sources=mean_source,
    functions=["row_mean_cuda"],
)


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        moved = x.movedim(self.dim, -1)
        shape = moved.shape[:-1]
        return ext.row_mean_cuda(moved.contiguous()).view(shape)

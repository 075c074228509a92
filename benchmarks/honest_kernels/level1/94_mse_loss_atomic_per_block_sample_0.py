# Grid-stride loop, a tree in every block, one atomicAdd a block onto a float, the division on the last line.
# style: atomics, shared
# expect: faster
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

mse_source = """
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void mse_kernel(const float* pred, const float* target, float* loss, int64_t n) {
    __shared__ float sdata[256];
    int tid = threadIdx.x;
    float sum = 0.0f;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + tid; i < n; i += (int64_t)blockDim.x * gridDim.x) {
        float diff = pred[i] - target[i];
        sum += diff * diff;
    }
    sdata[tid] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) {
            sdata[tid] += sdata[tid + s];
        }
        __syncthreads();
    }
    if (tid == 0) {
        atomicAdd(loss, sdata[0]);
    }
}

torch::Tensor mse_cuda(torch::Tensor pred, torch::Tensor target) {
    auto loss = torch::zeros({}, pred.options());
    int64_t n = pred.numel();
    const int threads = 256;
    const int blocks = std::min<int64_t>((n + threads - 1) / threads, 4096);
    mse_kernel<<<blocks, threads>>>(pred.data_ptr<float>(), target.data_ptr<float>(), loss.data_ptr<float>(), n);
    return loss / n;
}
"""

mse = load_inline(
    name="mse_loss",
    cpp_sources="torch::Tensor mse_cuda(torch::Tensor pred, torch::Tensor target);",
    cuda_sources=mse_source,
    functions=["mse_cuda"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return mse.mse_cuda(predictions.contiguous(), targets.contiguous())

# A block a row of predictions, targets by column; every warp ends with an atomicAdd of its own.
# style: shuffle, atomics
# expect: faster
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

hinge_source = """
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void hinge_kernel(const float* predictions, const float* targets, float* sum, int cols) {
    const float* row = predictions + (int64_t)blockIdx.x * cols;
    float local = 0.0f;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) {
        local += fmaxf(0.0f, 1.0f - row[c] * targets[c]);
    }
    for (int offset = warpSize / 2; offset > 0; offset /= 2) {
        local += __shfl_down_sync(0xffffffff, local, offset);
    }
    if (threadIdx.x % warpSize == 0) atomicAdd(sum, local);
}

torch::Tensor hinge_loss(torch::Tensor predictions, torch::Tensor targets) {
    TORCH_CHECK(targets.numel() == predictions.size(1), "targets belong to the columns");
    auto sum = torch::zeros({1}, predictions.options());
    hinge_kernel<<<predictions.size(0), 512>>>(
        predictions.data_ptr<float>(), targets.data_ptr<float>(), sum.data_ptr<float>(), predictions.size(1));
    return sum[0] / predictions.numel();
}
"""

hinge = load_inline(
    name="hinge_warps",
    cpp_sources="torch::Tensor hinge_loss(torch::Tensor predictions, torch::Tensor targets);",
    cuda_sources=hinge_source,
    functions=["hinge_loss"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, predictions, targets):
        return hinge.hinge_loss(predictions.contiguous(), targets.contiguous())

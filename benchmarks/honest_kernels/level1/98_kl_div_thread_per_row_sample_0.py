# One thread a row adds up t * (log t - log p) in order, one atomicAdd a row onto the result.
# style: naive, atomics
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

kl_src = """
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <math.h>

__global__ void kl_div_kernel(const float* predictions, const float* targets, float* out, int batch, int dim) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= batch) return;
    const float* p = predictions + (size_t)row * dim;
    const float* t = targets + (size_t)row * dim;
    float sum = 0.0f;
    for (int i = 0; i < dim; i++) {
        float target = t[i];
        float log_p = logf(p[i]);
        float t_log_t = target > 0.0f ? target * logf(target) : 0.0f;
        sum += t_log_t - target * log_p;
    }
    atomicAdd(out, sum);
}

torch::Tensor kl_div_cuda(torch::Tensor predictions, torch::Tensor targets) {
    int batch = predictions.size(0);
    int dim = predictions.size(1);
    auto out = torch::zeros({}, predictions.options());
    kl_div_kernel<<<(batch + 31) / 32, 32>>>(
        predictions.data_ptr<float>(), targets.data_ptr<float>(), out.data_ptr<float>(), batch, dim);
    return out / batch;
}
"""

kl = load_inline(
    name="kl_div_rows",
    cpp_sources="torch::Tensor kl_div_cuda(torch::Tensor predictions, torch::Tensor targets);",
    cuda_sources=kl_src,
    functions=["kl_div_cuda"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return kl.kl_div_cuda(predictions.contiguous(), targets.contiguous())

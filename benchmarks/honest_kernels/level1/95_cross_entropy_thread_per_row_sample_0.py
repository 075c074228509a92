# One thread a row: maximum, then sum of exponentials in order, then one atomicAdd a row onto the mean.
# style: naive, atomics
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

ce_source = """
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <math.h>

__global__ void cross_entropy_kernel(const float* logits, const int64_t* targets, float* loss, int batch,
                                     int classes) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= batch) return;
    const float* x = logits + (size_t)row * classes;
    float max_val = x[0];
    for (int i = 1; i < classes; i++) {
        if (x[i] > max_val) max_val = x[i];
    }
    float sum = 0.0f;
    for (int i = 0; i < classes; i++) {
        sum += expf(x[i] - max_val);
    }
    float nll = logf(sum) + max_val - x[targets[row]];
    atomicAdd(loss, nll / batch);
}

torch::Tensor cross_entropy_cuda(torch::Tensor logits, torch::Tensor targets) {
    int batch = logits.size(0);
    int classes = logits.size(1);
    auto loss = torch::zeros({1}, logits.options());
    cross_entropy_kernel<<<(batch + 127) / 128, 128>>>(
        logits.data_ptr<float>(), targets.data_ptr<int64_t>(), loss.data_ptr<float>(), batch, classes);
    return loss.squeeze();
}
"""

ce = load_inline(
    name="cross_entropy",
    cpp_sources="torch::Tensor cross_entropy_cuda(torch::Tensor logits, torch::Tensor targets);",
    cuda_sources=ce_source,
    functions=["cross_entropy_cuda"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super(ModelNew, self).__init__()

    def forward(self, predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return ce.cross_entropy_cuda(predictions.contiguous(), targets.contiguous())

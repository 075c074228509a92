# An own kernel writes every element's loss into a temporary of four gigabytes, PyTorch takes the mean.
# style: naive, library
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

huber_source = """
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void smooth_l1_elements(const float* p, const float* t, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float diff = fabsf(p[i] - t[i]);
        out[i] = diff < 1.0f ? 0.5f * diff * diff : diff - 0.5f;
    }
}

torch::Tensor smooth_l1_cuda(torch::Tensor p, torch::Tensor t) {
    auto elements = torch::empty_like(p);
    int n = p.numel();
    smooth_l1_elements<<<(n + 255) / 256, 256>>>(
        p.data_ptr<float>(), t.data_ptr<float>(), elements.data_ptr<float>(), n);
    cudaDeviceSynchronize();
    return elements.mean();
}
"""

huber = load_inline(
    name="smooth_l1",
    cpp_sources="torch::Tensor smooth_l1_cuda(torch::Tensor p, torch::Tensor t);",
    cuda_sources=huber_source,
    functions=["smooth_l1_cuda"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return huber.smooth_l1_cuda(predictions.contiguous(), targets.contiguous())

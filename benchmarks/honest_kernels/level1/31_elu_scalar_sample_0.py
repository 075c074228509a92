# One thread an element, alpha handed over as a float, check of the launch by TORCH_CHECK.
# style: naive
# expect: about
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

elu_source = """
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void elu_kernel(const float* x, float* y, float alpha, int size) {
    int tid = blockIdx.x * blockDim.x + threadIdx.x;
    if (tid < size) {
        float val = x[tid];
        y[tid] = val > 0 ? val : alpha * (expf(val) - 1);
    }
}

torch::Tensor elu_cuda(torch::Tensor x, float alpha) {
    TORCH_CHECK(x.numel() < (1LL << 31) - 1024, "too many elements for 32-bit indices");
    auto y = torch::empty_like(x);
    int size = x.numel();
    int threads = 1024;
    int blocks = (size + threads - 1) / threads;
    elu_kernel<<<blocks, threads>>>(x.data_ptr<float>(), y.data_ptr<float>(), alpha, size);
    TORCH_CHECK(cudaGetLastError() == cudaSuccess, "elu_kernel failed");
    return y;
}
"""

elu_ext = load_inline(
    name="elu_ext",
    cpp_sources="torch::Tensor elu_cuda(torch::Tensor x, float alpha);",
    cuda_sources=elu_source,
    functions=["elu_cuda"],
)


class ModelNew(nn.Module):
    def __init__(self, alpha: float = 1.0):
        super(ModelNew, self).__init__()
        self.alpha = alpha

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return elu_ext.elu_cuda(x.contiguous(), self.alpha)

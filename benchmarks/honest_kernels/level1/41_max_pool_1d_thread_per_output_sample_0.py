# One thread an output, eight bounds checks each.
# style: naive
# expect: faster
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

maxpool1d_source = """
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <math.h>

__global__ void maxpool1d_kernel(const float* input, float* output, int length, int out_length, int kernel_size,
                                 int stride, int padding, int dilation, int64_t total) {
    int64_t idx = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= total) return;
    int o = idx % out_length;
    int64_t plane = idx / out_length;
    const float* in = input + plane * length;
    float best = -INFINITY;
    for (int k = 0; k < kernel_size; k++) {
        int pos = o * stride - padding + k * dilation;
        if (pos >= 0 && pos < length) {
            best = fmaxf(best, in[pos]);
        }
    }
    output[idx] = best;
}

torch::Tensor maxpool1d(torch::Tensor x, int kernel_size, int stride, int padding, int dilation) {
    int length = x.size(2);
    int out_length = (length + 2 * padding - dilation * (kernel_size - 1) - 1) / stride + 1;
    auto out = torch::empty({x.size(0), x.size(1), out_length}, x.options());
    int64_t total = out.numel();
    maxpool1d_kernel<<<(total + 255) / 256, 256>>>(x.data_ptr<float>(), out.data_ptr<float>(), length, out_length,
                                                   kernel_size, stride, padding, dilation, total);
    return out;
}
"""

maxpool = load_inline(
    name="maxpool1d",
    cpp_sources="torch::Tensor maxpool1d(torch::Tensor x, int kernel_size, int stride, int padding, int dilation);",
    cuda_sources=maxpool1d_source,
    functions=["maxpool1d"],
)


class ModelNew(nn.Module):
    def __init__(
        self,
        kernel_size: int,
        stride: int = None,
        padding: int = 0,
        dilation: int = 1,
        return_indices: bool = False,
    ):
        super().__init__()
        if return_indices:
            raise NotImplementedError("indices are not implemented")
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.dilation = dilation

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return maxpool.maxpool1d(x.contiguous(), self.kernel_size, self.stride, self.padding, self.dilation)

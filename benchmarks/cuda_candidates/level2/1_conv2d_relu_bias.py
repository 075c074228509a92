import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

relu_bias_source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <c10/cuda/CUDAStream.h>

// In place on the convolution's output: relu(x) + bias[channel]. One block row per plane (sample and channel).
__global__ void relu_bias_kernel(float* __restrict__ x, const float* __restrict__ bias, int channels,
                                 int64_t plane_size) {
    const float b = bias[blockIdx.y % channels];
    float* plane = x + (int64_t)blockIdx.y * plane_size;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < plane_size;
         i += (int64_t)gridDim.x * blockDim.x) {
        const float v = plane[i];
        plane[i] = (v < 0.0f ? 0.0f : v) + b;
    }
}

torch::Tensor relu_bias_cuda(torch::Tensor x, torch::Tensor bias) {
    TORCH_CHECK(x.is_cuda() && x.dim() == 4, "x must be a CUDA tensor (N, C, H, W)");
    TORCH_CHECK(bias.numel() == x.size(1), "one bias per channel");
    x = x.contiguous();
    bias = bias.contiguous();
    const int64_t planes = x.size(0) * x.size(1), plane_size = x.size(2) * x.size(3);
    TORCH_CHECK(planes <= 65535, "too many planes for the grid");
    const dim3 grid((plane_size + 1023) / 1024, planes);
    relu_bias_kernel<<<grid, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), bias.data_ptr<float>(), x.size(1), plane_size);
    return x;
}
"""

relu_bias = load_inline(
    name="relu_bias",
    cpp_sources="torch::Tensor relu_bias_cuda(torch::Tensor x, torch::Tensor bias);",
    cuda_sources=relu_bias_source,
    functions=["relu_bias_cuda"],
    extra_cuda_cflags=["-O3"],
    verbose=False,
)


class ModelNew(nn.Module):
    """Convolution by cuDNN; ReLU and the bias after it in one kernel."""

    def __init__(self, in_channels, out_channels, kernel_size, bias_shape):
        super(ModelNew, self).__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size)
        self.bias = nn.Parameter(torch.randn(bias_shape))

    def forward(self, x):
        return relu_bias.relu_bias_cuda(self.conv(x), self.bias)

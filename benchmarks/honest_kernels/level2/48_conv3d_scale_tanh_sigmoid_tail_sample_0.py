# Library convolution, then four elementwise kernels one after the other with temporaries.
# style: library several_launches
# expect: about
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void scale_kernel(const float* x, const float* s, float* y, int64_t n, int channels, int64_t volume) {
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * s[(i / volume) % channels];
}

__global__ void tanh_kernel(const float* x, float* y, int64_t n) {
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = tanhf(x[i]);
}

__global__ void sigmoid_kernel(const float* x, float* y, int64_t n) {
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 1.0f / (1.0f + expf(-x[i]));
}

torch::Tensor scale_channels(torch::Tensor x, torch::Tensor s) {
    x = x.contiguous();
    s = s.contiguous();
    auto y = torch::empty_like(x);
    int64_t n = x.numel();
    scale_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), s.data_ptr<float>(), y.data_ptr<float>(), n, x.size(1),
                                           x.size(2) * x.size(3) * x.size(4));
    return y;
}

torch::Tensor tanh_forward(torch::Tensor x) {
    auto y = torch::empty_like(x);
    tanh_kernel<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}

torch::Tensor sigmoid_forward(torch::Tensor x) {
    auto y = torch::empty_like(x);
    sigmoid_kernel<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}
"""

cpp_source = """
torch::Tensor scale_channels(torch::Tensor x, torch::Tensor s);
torch::Tensor tanh_forward(torch::Tensor x);
torch::Tensor sigmoid_forward(torch::Tensor x);
"""

ext = load_inline(
    name="conv3d_scale_tanh_sigmoid_tail",
    cpp_sources=cpp_source,
    cuda_sources=source,
    functions=["scale_channels", "tanh_forward", "sigmoid_forward"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        scaling_factor: float,
        bias_shape: tuple,
    ):
        super().__init__()
        self.conv = nn.Conv3d(in_channels, out_channels, kernel_size)
        self.scaling_factor = nn.Parameter(torch.randn(bias_shape))
        self.bias = nn.Parameter(torch.randn(bias_shape))

    def forward(self, x):
        x = self.conv(x)
        x = ext.scale_channels(x, self.scaling_factor)
        x = ext.tanh_forward(x)
        x = ext.scale_channels(x, self.bias)
        return ext.sigmoid_forward(x)

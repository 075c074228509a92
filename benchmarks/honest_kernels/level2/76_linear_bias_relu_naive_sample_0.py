# Whole layer, one thread an output that walks both rows by float4, default stream.
# style: naive vectorised
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void linear_bias_relu_kernel(const float* x, const float* weight, const float* bias, float* out,
                                        int batch, int in_features, int out_features, bool vectorised) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < batch && col < out_features) {
        const float* a = x + (int64_t)row * in_features;
        const float* w = weight + (int64_t)col * in_features;
        float sum = 0.0f;
        int k = 0;
        if (vectorised) {
            for (; k < in_features; k += 4) {
                const float4 p = *reinterpret_cast<const float4*>(a + k);
                const float4 q = *reinterpret_cast<const float4*>(w + k);
                sum += p.x * q.x + p.y * q.y + p.z * q.z + p.w * q.w;
            }
        }
        for (; k < in_features; ++k) sum += a[k] * w[k];
        sum += bias[col];
        out[(int64_t)row * out_features + col] = sum > 0.0f ? sum : 0.0f;
    }
}

torch::Tensor linear_bias_relu(torch::Tensor x, torch::Tensor weight, torch::Tensor bias) {
    x = x.contiguous();
    weight = weight.contiguous();
    bias = bias.contiguous();
    int batch = x.size(0), in_features = x.size(1), out_features = weight.size(0);
    auto out = torch::empty({batch, out_features}, x.options());
    const bool vectorised = in_features % 4 == 0 && reinterpret_cast<uintptr_t>(x.data_ptr<float>()) % 16 == 0 &&
                            reinterpret_cast<uintptr_t>(weight.data_ptr<float>()) % 16 == 0;
    dim3 block(16, 16);
    dim3 grid((out_features + 15) / 16, (batch + 15) / 16);
    linear_bias_relu_kernel<<<grid, block>>>(x.data_ptr<float>(), weight.data_ptr<float>(), bias.data_ptr<float>(),
                                             out.data_ptr<float>(), batch, in_features, out_features, vectorised);
    return out;
}
"""

cpp_source = """
torch::Tensor linear_bias_relu(torch::Tensor x, torch::Tensor weight, torch::Tensor bias);
"""

ext = load_inline(
    name="linear_bias_relu_naive",
    cpp_sources=cpp_source,
    cuda_sources=source,
    functions=["linear_bias_relu"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self, in_features: int, out_features: int, bias_shape: tuple):
        super().__init__()
        self.gemm = nn.Linear(in_features, out_features, bias=False)
        self.bias = nn.Parameter(torch.randn(bias_shape))

    def forward(self, x):
        return ext.linear_bias_relu(x, self.gemm.weight, self.bias)

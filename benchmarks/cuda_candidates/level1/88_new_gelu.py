import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

new_gelu_source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

__device__ __forceinline__ float new_gelu(float x) {
    const float inner = 0.7978845608028654f * (x + 0.044715f * (x * x * x));
    return 0.5f * x * (1.0f + tanhf(inner));
}

__global__ void new_gelu_vec_kernel(const float4* __restrict__ in, float4* __restrict__ out, int64_t count) {
    const int64_t idx = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= count) return;
    const float4 v = __ldg(in + idx);
    out[idx] = make_float4(new_gelu(v.x), new_gelu(v.y), new_gelu(v.z), new_gelu(v.w));
}

__global__ void new_gelu_kernel(const float* __restrict__ in, float* __restrict__ out, int64_t begin, int64_t end) {
    const int64_t idx = begin + (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (idx < end) out[idx] = new_gelu(in[idx]);
}

torch::Tensor new_gelu_forward(const torch::Tensor& x) {
    TORCH_CHECK(x.is_cuda() && x.scalar_type() == torch::kFloat32, "x must be a float32 CUDA tensor");
    const c10::cuda::CUDAGuard guard(x.device());
    const auto in = x.contiguous();
    auto out = torch::empty_like(in);
    const int64_t n = in.numel();
    const float* src = in.data_ptr<float>();
    float* dst = out.data_ptr<float>();
    const int64_t vectors = reinterpret_cast<uintptr_t>(src) % 16 == 0 ? n / 4 : 0;
    const auto stream = at::cuda::getCurrentCUDAStream();
    if (vectors > 0) {
        new_gelu_vec_kernel<<<(vectors + 255) / 256, 256, 0, stream>>>(
            reinterpret_cast<const float4*>(src), reinterpret_cast<float4*>(dst), vectors);
    }
    if (vectors * 4 < n) {
        new_gelu_kernel<<<(n - vectors * 4 + 255) / 256, 256, 0, stream>>>(src, dst, vectors * 4, n);
    }
    return out;
}
"""

new_gelu_module = load_inline(
    name="new_gelu_module",
    cpp_sources="torch::Tensor new_gelu_forward(const torch::Tensor& x);",
    cuda_sources=new_gelu_source,
    functions=["new_gelu_forward"],
    extra_cuda_cflags=["-O3"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super(ModelNew, self).__init__()

    def forward(self, x):
        return new_gelu_module.new_gelu_forward(x)

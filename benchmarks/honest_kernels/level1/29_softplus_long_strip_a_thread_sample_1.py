# Every thread handles a strip of 64 consecutive elements, so that a warp touches 32 distant lines at a time.
# style: naive
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

softplus_cuda = """
#include <torch/extension.h>
#include <math.h>

#define STRIP 64

__global__ void softplus_strip(const float* in, float* out, long long total) {
    long long begin = ((long long)blockIdx.x * blockDim.x + threadIdx.x) * STRIP;
    long long end = begin + STRIP;
    if (end > total) end = total;
    for (long long i = begin; i < end; i++) {
        float v = in[i];
        // max(v, 0) + log(1 + exp(-|v|)) never overflows
        out[i] = fmaxf(v, 0.0f) + log1pf(expf(-fabsf(v)));
    }
}

torch::Tensor softplus_forward(torch::Tensor input) {
    auto out = torch::empty_like(input);
    long long total = input.numel();
    long long strips = (total + STRIP - 1) / STRIP;
    int threads = 128;
    softplus_strip<<<(strips + threads - 1) / threads, threads>>>(
        input.data_ptr<float>(), out.data_ptr<float>(), total);
    cudaDeviceSynchronize();
    return out;
}
"""

mod = load_inline(
    name="softplus_strip",
    cpp_sources="torch::Tensor softplus_forward(torch::Tensor input);",
    cuda_sources=softplus_cuda,
    functions=["softplus_forward"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return mod.softplus_forward(x.contiguous())

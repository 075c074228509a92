# Both products by the library, sigmoid and logsumexp by own kernels, one block a row.
# style: library several_launches shared
# expect: about
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

gemm_sigmoid_logsumexp_cpp = """
torch::Tensor sigmoid_(torch::Tensor x);
torch::Tensor logsumexp_rows(torch::Tensor x);
"""

gemm_sigmoid_logsumexp_cuda = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void sigmoid_kernel(float* x, int64_t n) {
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = 1.0f / (1.0f + expf(-x[i]));
}

__global__ void logsumexp_kernel(const float* x, float* y, int columns) {
    __shared__ float cache[256];
    const float* row = x + (int64_t)blockIdx.x * columns;
    float top = -INFINITY;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) top = fmaxf(top, row[i]);
    cache[threadIdx.x] = top;
    __syncthreads();
    for (int s = 128; s > 0; s >>= 1) {
        if (threadIdx.x < s) cache[threadIdx.x] = fmaxf(cache[threadIdx.x], cache[threadIdx.x + s]);
        __syncthreads();
    }
    top = cache[0];
    __syncthreads();
    float sum = 0.0f;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += expf(row[i] - top);
    cache[threadIdx.x] = sum;
    __syncthreads();
    for (int s = 128; s > 0; s >>= 1) {
        if (threadIdx.x < s) cache[threadIdx.x] += cache[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) y[blockIdx.x] = top + logf(cache[0]);
}

torch::Tensor sigmoid_(torch::Tensor x) {
    sigmoid_kernel<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), x.numel());
    return x;
}

torch::Tensor logsumexp_rows(torch::Tensor x) {
    x = x.contiguous();
    auto y = torch::empty({x.size(0)}, x.options());
    logsumexp_kernel<<<x.size(0), 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""

ext = load_inline(
    name="gemm_sigmoid_logsumexp_module",
    cpp_sources=[gemm_sigmoid_logsumexp_cpp],
    cuda_sources=[gemm_sigmoid_logsumexp_cuda],
    functions=["sigmoid_", "logsumexp_rows"],
    extra_cflags=["-O2"],
    extra_cuda_cflags=["-O2"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self, input_size: int, hidden_size: int, output_size: int):
        super().__init__()
        self.linear1 = nn.Linear(input_size, hidden_size)
        self.linear2 = nn.Linear(hidden_size, output_size)

    def forward(self, x):
        hidden = ext.sigmoid_(self.linear1(x))
        return ext.logsumexp_rows(self.linear2(hidden))

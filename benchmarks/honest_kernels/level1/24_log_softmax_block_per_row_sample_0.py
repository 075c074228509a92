# One block a row with shuffles inside warps and 32 floats of shared memory between them; the last dimension only.
# style: shuffle, shared
# expect: about
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

log_softmax_source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <cfloat>

__inline__ __device__ float warp_reduce_max(float v) {
    for (int o = 16; o > 0; o >>= 1) v = fmaxf(v, __shfl_down_sync(0xffffffff, v, o));
    return v;
}

__inline__ __device__ float warp_reduce_sum(float v) {
    for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffff, v, o);
    return v;
}

__global__ void log_softmax_kernel(const float* x, float* y, int64_t dim) {
    __shared__ float shared[32];
    __shared__ float row_max, row_log;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
    const float* in = x + blockIdx.x * dim;
    float* out = y + blockIdx.x * dim;

    float m = -FLT_MAX;
    for (int64_t i = threadIdx.x; i < dim; i += blockDim.x) m = fmaxf(m, in[i]);
    m = warp_reduce_max(m);
    if (lane == 0) shared[warp] = m;
    __syncthreads();
    if (warp == 0) {
        m = lane < warps ? shared[lane] : -FLT_MAX;
        m = warp_reduce_max(m);
        if (lane == 0) row_max = m;
    }
    __syncthreads();
    m = row_max;

    float sum = 0.f;
    for (int64_t i = threadIdx.x; i < dim; i += blockDim.x) sum += expf(in[i] - m);
    sum = warp_reduce_sum(sum);
    if (lane == 0) shared[warp] = sum;
    __syncthreads();
    if (warp == 0) {
        sum = lane < warps ? shared[lane] : 0.f;
        sum = warp_reduce_sum(sum);
        if (lane == 0) row_log = logf(sum);
    }
    __syncthreads();
    const float log_sum = row_log;
    for (int64_t i = threadIdx.x; i < dim; i += blockDim.x) out[i] = (in[i] - m) - log_sum;
}

torch::Tensor log_softmax_cuda(torch::Tensor x) {
    auto y = torch::empty_like(x);
    log_softmax_kernel<<<x.size(0), 512>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""

log_softmax = load_inline(
    name="log_softmax_rows",
    cpp_sources="torch::Tensor log_softmax_cuda(torch::Tensor x);",
    cuda_sources=log_softmax_source,
    functions=["log_softmax_cuda"],
)


class ModelNew(nn.Module):
    def __init__(self, dim: int = 1):
        super().__init__()
        assert dim in (1, -1), "only the last dimension is implemented"
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return log_softmax.log_softmax_cuda(x.contiguous())

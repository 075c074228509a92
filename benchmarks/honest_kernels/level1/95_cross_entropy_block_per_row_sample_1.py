# One block a row writes its loss, PyTorch takes the mean of them.
# style: shared, library
# expect: faster
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = r"""
#include <torch/extension.h>
#include <c10/cuda/CUDAStream.h>
#include <cfloat>

constexpr int T = 256;

__global__ void ce_rows(const float* __restrict__ x, const int64_t* __restrict__ target, float* __restrict__ loss,
                        int classes) {
    __shared__ float buf[T];
    const int t = threadIdx.x;
    const float* row = x + (int64_t)blockIdx.x * classes;
    float m = -FLT_MAX;
    for (int c = t; c < classes; c += T) m = fmaxf(m, row[c]);
    buf[t] = m;
    __syncthreads();
    for (int s = T / 2; s; s >>= 1) {
        if (t < s) buf[t] = fmaxf(buf[t], buf[t + s]);
        __syncthreads();
    }
    m = buf[0];
    __syncthreads();
    float sum = 0.f;
    for (int c = t; c < classes; c += T) sum += expf(row[c] - m);
    buf[t] = sum;
    __syncthreads();
    for (int s = T / 2; s; s >>= 1) {
        if (t < s) buf[t] += buf[t + s];
        __syncthreads();
    }
    if (t == 0) loss[blockIdx.x] = logf(buf[0]) - (row[target[blockIdx.x]] - m);
}

torch::Tensor cross_entropy(torch::Tensor x, torch::Tensor target) {
    TORCH_CHECK(x.dim() == 2 && target.dim() == 1 && x.size(0) == target.size(0), "shapes");
    TORCH_CHECK(target.scalar_type() == torch::kInt64, "class indices are int64");
    auto loss = torch::empty({x.size(0)}, x.options());
    ce_rows<<<x.size(0), T, 0, c10::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), target.data_ptr<int64_t>(), loss.data_ptr<float>(), x.size(1));
    return loss.mean();
}
"""

ext = load_inline(
    name="ce_rows",
    cpp_sources="torch::Tensor cross_entropy(torch::Tensor x, torch::Tensor target);",
    cuda_sources=cuda_src,
    functions=["cross_entropy"],
)


class ModelNew(nn.Module):
    def forward(self, predictions, targets):
        return ext.cross_entropy(predictions.contiguous(), targets.contiguous())

# One block a row, two sums in one tree, thread 0 adds the row's loss to the mean by atomicAdd.
# style: shared, atomics
# expect: faster
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

triplet_source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void triplet_kernel(const float* a, const float* p, const float* n, float* loss, int batch, int dim,
                               float margin) {
    __shared__ float s_pos[256];
    __shared__ float s_neg[256];
    const int tid = threadIdx.x;
    const int64_t base = (int64_t)blockIdx.x * dim;
    float pos = 0.f, neg = 0.f;
    for (int i = tid; i < dim; i += 256) {
        // PyTorch's pairwise distance adds eps to every difference
        const float dp = a[base + i] - p[base + i] + 1e-6f;
        const float dn = a[base + i] - n[base + i] + 1e-6f;
        pos += dp * dp;
        neg += dn * dn;
    }
    s_pos[tid] = pos;
    s_neg[tid] = neg;
    __syncthreads();
    for (int s = 128; s > 0; s >>= 1) {
        if (tid < s) {
            s_pos[tid] += s_pos[tid + s];
            s_neg[tid] += s_neg[tid + s];
        }
        __syncthreads();
    }
    if (tid == 0) {
        const float row = fmaxf(sqrtf(s_pos[0]) - sqrtf(s_neg[0]) + margin, 0.f);
        atomicAdd(loss, row / batch);
    }
}

torch::Tensor triplet_loss(torch::Tensor a, torch::Tensor p, torch::Tensor n, double margin) {
    auto loss = torch::zeros({}, a.options());
    triplet_kernel<<<a.size(0), 256>>>(a.data_ptr<float>(), p.data_ptr<float>(), n.data_ptr<float>(),
                                       loss.data_ptr<float>(), a.size(0), a.size(1), margin);
    return loss;
}
"""

triplet = load_inline(
    name="triplet_margin",
    cpp_sources="torch::Tensor triplet_loss(torch::Tensor a, torch::Tensor p, torch::Tensor n, double margin);",
    cuda_sources=triplet_source,
    functions=["triplet_loss"],
)


class ModelNew(nn.Module):
    def __init__(self, margin: float = 1.0):
        super().__init__()
        self.margin = margin

    def forward(self, anchor, positive, negative):
        return triplet.triplet_loss(anchor.contiguous(), positive.contiguous(), negative.contiguous(), self.margin)

# torch.bmm for both products, an own softmax with a block for each row of the scores between them.
# style: library, shared
# expect: about
import math

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

softmax_src = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <math.h>

__global__ void scaled_softmax(float* scores, int n, float scale) {
    __shared__ float red[128];
    float* row = scores + (int64_t)blockIdx.x * n;
    const int t = threadIdx.x;
    float m = -INFINITY;
    for (int i = t; i < n; i += 128) m = fmaxf(m, row[i] * scale);
    red[t] = m;
    __syncthreads();
    for (int s = 64; s > 0; s >>= 1) {
        if (t < s) red[t] = fmaxf(red[t], red[t + s]);
        __syncthreads();
    }
    m = red[0];
    __syncthreads();
    float sum = 0.f;
    for (int i = t; i < n; i += 128) {
        const float e = expf(row[i] * scale - m);
        row[i] = e;
        sum += e;
    }
    red[t] = sum;
    __syncthreads();
    for (int s = 64; s > 0; s >>= 1) {
        if (t < s) red[t] += red[t + s];
        __syncthreads();
    }
    const float inv = 1.f / red[0];
    for (int i = t; i < n; i += 128) row[i] *= inv;
}

void scaled_softmax_(torch::Tensor scores, double scale) {
    const int n = scores.size(-1);
    scaled_softmax<<<scores.numel() / n, 128>>>(scores.data_ptr<float>(), n, (float)scale);
}
"""

ext = load_inline(
    name="scaled_softmax",
    cpp_sources="void scaled_softmax_(torch::Tensor scores, double scale);",
    cuda_sources=softmax_src,
    functions=["scaled_softmax_"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor) -> torch.Tensor:
        B, H, S, D = Q.shape
        q, k, v = (t.reshape(B * H, -1, D) for t in (Q, K, V))
        scores = torch.bmm(q, k.transpose(1, 2)).contiguous()
        ext.scaled_softmax_(scores, 1.0 / math.sqrt(D))
        return torch.bmm(scores, v).view(B, H, S, D)

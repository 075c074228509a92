# Scores in a temporary by one kernel, relu and the sum of values by another, one thread an output.
# style: naive several_launches library
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

// scores[b][h][i][j] = relu(scale * q_i . k_j) for j <= i, else 0
__global__ void scores_kernel(const float* qkv, float* scores, int T, int C, int heads, int D, float scale) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= T || j >= T) return;
    int64_t b = blockIdx.z / heads;
    int h = blockIdx.z % heads;
    float s = 0.0f;
    if (j <= i) {
        const float* q = qkv + (b * T + i) * 3 * C + h * D;
        const float* k = qkv + (b * T + j) * 3 * C + C + h * D;
        for (int d = 0; d < D; d++) s += q[d] * k[d];
        s = fmaxf(s * scale, 0.0f);
    }
    scores[((int64_t)blockIdx.z * T + i) * T + j] = s;
}

__global__ void values_kernel(const float* qkv, const float* scores, float* out, int64_t total, int T, int C, int heads, int D) {
    int64_t idx = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= total) return;
    int c = idx % C, h = c / D;
    int i = (idx / C) % T;
    int64_t b = idx / ((int64_t)C * T);
    const float* row = scores + ((b * heads + h) * T + i) * T;
    float sum = 0.0f;
    for (int j = 0; j <= i; j++) sum += row[j] * qkv[(b * T + j) * 3 * C + 2 * C + c];
    out[idx] = sum;
}

torch::Tensor relu_attention(torch::Tensor qkv, int64_t heads) {
    qkv = qkv.contiguous();
    int B = qkv.size(0), T = qkv.size(1), C = qkv.size(2) / 3, D = C / heads;
    auto scores = torch::empty({B, heads, T, T}, qkv.options());
    auto out = torch::empty({B, T, C}, qkv.options());
    dim3 block(16, 16);
    dim3 grid((T + 15) / 16, (T + 15) / 16, B * heads);
    scores_kernel<<<grid, block>>>(qkv.data_ptr<float>(), scores.data_ptr<float>(), T, C, (int)heads, D, 1.0f / sqrtf((float)D));
    int64_t total = out.numel();
    values_kernel<<<(total + 255) / 256, 256>>>(qkv.data_ptr<float>(), scores.data_ptr<float>(), out.data_ptr<float>(), total,
                                                T, C, (int)heads, D);
    return out;
}
"""

cpp_source = "torch::Tensor relu_attention(torch::Tensor qkv, int64_t heads);"

ext = load_inline(
    name="relu_attention_materialised",
    cpp_sources=cpp_source,
    cuda_sources=source,
    functions=["relu_attention"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self, n_embd: int, n_head: int, max_seqlen: int):
        super().__init__()
        self.c_attn = nn.Linear(n_embd, 3 * n_embd)
        self.c_proj = nn.Linear(n_embd, n_embd)
        causal = torch.tril(torch.ones(max_seqlen, max_seqlen))
        self.register_buffer("bias", causal.view(1, 1, max_seqlen, max_seqlen))
        self.n_head = n_head
        self.n_embd = n_embd

    def forward(self, x):
        return ext.relu_attention(self.c_attn(x), self.n_head)

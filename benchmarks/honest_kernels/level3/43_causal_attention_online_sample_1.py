# One warp a query with a running softmax over the keys, then torch.cuda.synchronize().
# style: shuffle one_pass library
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

// A lane holds every 32nd value of the head; keys are taken one after the other.
__global__ void causal_warp_kernel(const float* __restrict__ qkv, float* __restrict__ out, int64_t rows, int T, int C,
                                   int heads, int D, float scale) {
    const int64_t row = (int64_t)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    if (row >= rows) return;
    const int t = row % T, h = (row / T) % heads;
    const int64_t b = row / ((int64_t)T * heads);
    const float* base = qkv + b * T * 3 * C + h * D;
    float q[4], acc[4];
    for (int i = 0; i < 4; ++i) {
        const int d = lane + 32 * i;
        q[i] = d < D ? base[(int64_t)t * 3 * C + d] * scale : 0.0f;
        acc[i] = 0.0f;
    }
    float top = -INFINITY, sum = 0.0f;
    for (int j = 0; j <= t; ++j) {
        const float* k = base + (int64_t)j * 3 * C + C;
        float s = 0.0f;
        for (int i = 0; i < 4; ++i) {
            const int d = lane + 32 * i;
            if (d < D) s += q[i] * k[d];
        }
        for (int offset = 16; offset > 0; offset >>= 1) s += __shfl_xor_sync(0xffffffff, s, offset);
        const float next = fmaxf(top, s);
        const float shrink = expf(top - next), p = expf(s - next);
        sum = sum * shrink + p;
        for (int i = 0; i < 4; ++i) {
            const int d = lane + 32 * i;
            if (d < D) acc[i] = acc[i] * shrink + p * k[C + d];
        }
        top = next;
    }
    for (int i = 0; i < 4; ++i) {
        const int d = lane + 32 * i;
        if (d < D) out[(b * T + t) * C + h * D + d] = acc[i] / sum;
    }
}

torch::Tensor causal_attention(torch::Tensor qkv, int64_t heads) {
    qkv = qkv.contiguous();
    const int64_t B = qkv.size(0), T = qkv.size(1), C = qkv.size(2) / 3, D = C / heads;
    TORCH_CHECK(D <= 128, "head too large");
    auto out = torch::empty({B, T, C}, qkv.options());
    const int64_t rows = B * heads * T;
    causal_warp_kernel<<<(rows + 3) / 4, 128>>>(qkv.data_ptr<float>(), out.data_ptr<float>(), rows, T, C, heads, D,
                                                1.0f / sqrtf((float)D));
    return out;
}
"""

ext = load_inline(
    name="causal_attention_online_ext",
    cpp_sources="torch::Tensor causal_attention(torch::Tensor qkv, int64_t heads);",
    cuda_sources=cuda_src,
    functions=["causal_attention"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self, n_embd: int, n_head: int, attn_pdrop: float, resid_pdrop: float, max_seqlen: int):
        super().__init__()
        self.c_attn = nn.Linear(n_embd, 3 * n_embd)
        self.c_proj = nn.Linear(n_embd, n_embd)
        self.attn_dropout = nn.Dropout(attn_pdrop)
        self.resid_dropout = nn.Dropout(resid_pdrop)
        causal = torch.tril(torch.ones(max_seqlen, max_seqlen))
        self.register_buffer("bias", causal.view(1, 1, max_seqlen, max_seqlen))
        self.n_head = n_head
        self.n_embd = n_embd

    def forward(self, x):
        out = ext.causal_attention(self.c_attn(x), self.n_head)
        torch.cuda.synchronize()
        return self.resid_dropout(self.c_proj(out))

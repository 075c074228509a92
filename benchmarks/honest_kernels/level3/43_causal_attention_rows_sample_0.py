# Projections by the library, attention row by row: one block a query, default stream.
# style: naive shared library
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

#define THREADS 128

// One block for one query row: scores, softmax and the weighted sum of values, all in shared memory.
__global__ void causal_row_kernel(const float* __restrict__ qkv, float* __restrict__ out, int T, int C, int D, float scale) {
    extern __shared__ float shared[];
    float* scores = shared;
    float* q = shared + T;
    __shared__ float cache[THREADS];
    const int t = blockIdx.x, h = blockIdx.y, tid = threadIdx.x;
    const int64_t b = blockIdx.z;
    const float* base = qkv + b * T * 3 * C + h * D;
    for (int d = tid; d < D; d += THREADS) q[d] = base[(int64_t)t * 3 * C + d];
    __syncthreads();
    float top = -INFINITY;
    for (int j = tid; j <= t; j += THREADS) {
        const float* k = base + (int64_t)j * 3 * C + C;
        float s = 0.0f;
        for (int d = 0; d < D; ++d) s += q[d] * k[d];
        s *= scale;
        scores[j] = s;
        top = fmaxf(top, s);
    }
    cache[tid] = top;
    __syncthreads();
    for (int s = THREADS / 2; s > 0; s >>= 1) {
        if (tid < s) cache[tid] = fmaxf(cache[tid], cache[tid + s]);
        __syncthreads();
    }
    top = cache[0];
    __syncthreads();
    float sum = 0.0f;
    for (int j = tid; j <= t; j += THREADS) {
        scores[j] = expf(scores[j] - top);
        sum += scores[j];
    }
    cache[tid] = sum;
    __syncthreads();
    for (int s = THREADS / 2; s > 0; s >>= 1) {
        if (tid < s) cache[tid] += cache[tid + s];
        __syncthreads();
    }
    sum = cache[0];
    for (int d = tid; d < D; d += THREADS) {
        float acc = 0.0f;
        for (int j = 0; j <= t; ++j) acc += scores[j] * base[(int64_t)j * 3 * C + 2 * C + d];
        out[(b * T + t) * C + h * D + d] = acc / sum;
    }
}

torch::Tensor causal_attention(torch::Tensor qkv, int64_t heads) {
    qkv = qkv.contiguous();
    const int B = qkv.size(0), T = qkv.size(1), C = qkv.size(2) / 3, D = C / heads;
    auto out = torch::empty({B, T, C}, qkv.options());
    const dim3 grid(T, heads, B);
    const size_t bytes = (T + D) * sizeof(float);
    TORCH_CHECK(bytes <= 46 * 1024, "sequence too long for shared memory");
    causal_row_kernel<<<grid, THREADS, bytes>>>(qkv.data_ptr<float>(), out.data_ptr<float>(), T, C, D, 1.0f / sqrtf((float)D));
    return out;
}
"""

cpp_source = "torch::Tensor causal_attention(torch::Tensor qkv, int64_t heads);"

ext = load_inline(
    name="causal_attention_rows",
    cpp_sources=cpp_source,
    cuda_sources=source,
    functions=["causal_attention"],
    verbose=False,
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
        return self.resid_dropout(self.c_proj(out))

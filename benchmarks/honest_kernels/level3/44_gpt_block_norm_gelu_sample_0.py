# Own layer norm and tanh gelu, products and attention by the library.
# style: library shared
# expect: about
import torch
import torch.nn as nn
import math

import torch.nn.functional as F
from torch.utils.cpp_extension import load_inline

gpt_block_norm_gelu_cpp = """
torch::Tensor layer_norm(torch::Tensor x, torch::Tensor gamma, torch::Tensor beta, double eps);
torch::Tensor new_gelu_(torch::Tensor x);
"""

gpt_block_norm_gelu_cuda = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

// One warp a row: mean, then variance, sums by shuffles.
__global__ void layer_norm_kernel(const float* __restrict__ x, const float* __restrict__ gamma,
                                  const float* __restrict__ beta, float* __restrict__ y, int64_t rows, int columns, float eps) {
    const int64_t row = (int64_t)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    if (row >= rows) return;
    const float* p = x + row * columns;
    float sum = 0.0f;
    for (int i = lane; i < columns; i += 32) sum += p[i];
    for (int offset = 16; offset > 0; offset >>= 1) sum += __shfl_xor_sync(0xffffffff, sum, offset);
    const float mean = sum / columns;
    float squares = 0.0f;
    for (int i = lane; i < columns; i += 32) squares += (p[i] - mean) * (p[i] - mean);
    for (int offset = 16; offset > 0; offset >>= 1) squares += __shfl_xor_sync(0xffffffff, squares, offset);
    const float scale = rsqrtf(squares / columns + eps);
    for (int i = lane; i < columns; i += 32) y[row * columns + i] = (p[i] - mean) * scale * gamma[i] + beta[i];
}

__global__ void new_gelu_kernel(float* x, int64_t n) {
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        const float v = x[i];
        x[i] = 0.5f * v * (1.0f + tanhf(0.7978845608028654f * (v + 0.044715f * v * v * v)));
    }
}

torch::Tensor layer_norm(torch::Tensor x, torch::Tensor gamma, torch::Tensor beta, double eps) {
    x = x.contiguous();
    auto y = torch::empty_like(x);
    const int columns = x.size(-1);
    const int64_t rows = x.numel() / columns;
    layer_norm_kernel<<<(rows + 3) / 4, 128>>>(x.data_ptr<float>(), gamma.data_ptr<float>(), beta.data_ptr<float>(),
                                               y.data_ptr<float>(), rows, columns, eps);
    return y;
}

torch::Tensor new_gelu_(torch::Tensor x) {
    TORCH_CHECK(x.is_contiguous(), "x must be contiguous");
    new_gelu_kernel<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), x.numel());
    return x;
}
"""

ext = load_inline(
    name="gpt_block_norm_gelu_module",
    cpp_sources=[gpt_block_norm_gelu_cpp],
    cuda_sources=[gpt_block_norm_gelu_cuda],
    functions=["layer_norm", "new_gelu_"],
    extra_cflags=["-O2"],
    extra_cuda_cflags=["-O2"],
    verbose=False,
)


class CausalSelfAttention(nn.Module):
    """Causal multi-head self-attention with one projection for q, k, v and one for the result."""

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

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        B, T, C = x.shape
        q, k, v = self.c_attn(x).split(self.n_embd, dim=2)
        q = q.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        k = k.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        v = v.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)

        scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        scores = scores.masked_fill(self.bias[:, :, :T, :T] == 0, float("-inf"))
        weights = self.attn_dropout(F.softmax(scores, dim=-1))

        out = (weights @ v).transpose(1, 2).contiguous().view(B, T, C)
        return self.resid_dropout(self.c_proj(out))


class ModelNew(nn.Module):
    def __init__(self, n_embd: int, n_head: int, attn_pdrop: float, resid_pdrop: float, max_seqlen: int):
        super().__init__()
        self.ln_1 = nn.LayerNorm(n_embd)
        self.attn = CausalSelfAttention(n_embd, n_head, attn_pdrop, resid_pdrop, max_seqlen)
        self.ln_2 = nn.LayerNorm(n_embd)
        self.mlp = nn.ModuleDict(
            {
                "c_fc": nn.Linear(n_embd, 4 * n_embd),
                "c_proj": nn.Linear(4 * n_embd, n_embd),
                "act": nn.GELU(approximate="tanh"),
                "dropout": nn.Dropout(resid_pdrop),
            }
        )

    def norm(self, x, layer):
        return ext.layer_norm(x, layer.weight, layer.bias, layer.eps)

    def forward(self, x):
        x = x + self.attn(self.norm(x, self.ln_1))
        hidden = ext.new_gelu_(self.mlp["c_fc"](self.norm(x, self.ln_2)))
        return x + self.mlp["dropout"](self.mlp["c_proj"](hidden))

# Three own kernels: tiles of 64 by 64 with 4 by 4 results a thread for both products, a softmax with a warp a row.
# style: tiled, shared, shuffle, several_launches
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

attention_src = r"""
#include <torch/extension.h>
#include <math.h>

#define TILE 64
#define DEPTH 16

// C = alpha * A * B, or A * B^T with BT, for every matrix of a batch (blockIdx.z); 16 x 16 threads.
template <bool BT>
__global__ void batched_gemm(const float* A, const float* B, float* C, int M, int N, int K, float alpha) {
    __shared__ float as[DEPTH][TILE + 1], bs[DEPTH][TILE + 1];
    const int64_t z = blockIdx.z;
    A += z * M * K;
    B += z * N * K;
    C += z * M * N;
    const int t = threadIdx.y * 16 + threadIdx.x;
    const int row0 = blockIdx.y * TILE, col0 = blockIdx.x * TILE;
    float acc[4][4] = {};
    for (int k0 = 0; k0 < K; k0 += DEPTH) {
        for (int i = t; i < TILE * DEPTH; i += 256) {
            const int r = row0 + i / DEPTH, k = k0 + i % DEPTH;
            as[i % DEPTH][i / DEPTH] = r < M && k < K ? A[(int64_t)r * K + k] : 0.f;
            if (BT) {
                const int c = col0 + i / DEPTH;
                bs[i % DEPTH][i / DEPTH] = c < N && k < K ? B[(int64_t)c * K + k] : 0.f;
            } else {
                const int kb = k0 + i / TILE, c = col0 + i % TILE;
                bs[i / TILE][i % TILE] = c < N && kb < K ? B[(int64_t)kb * N + c] : 0.f;
            }
        }
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < DEPTH; ++k) {
            float a[4], b[4];
            for (int i = 0; i < 4; ++i) a[i] = as[k][threadIdx.y * 4 + i];
            for (int j = 0; j < 4; ++j) b[j] = bs[k][threadIdx.x + 16 * j];
            for (int i = 0; i < 4; ++i)
                for (int j = 0; j < 4; ++j) acc[i][j] = fmaf(a[i], b[j], acc[i][j]);
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) {
            const int r = row0 + threadIdx.y * 4 + i, c = col0 + threadIdx.x + 16 * j;
            if (r < M && c < N) C[(int64_t)r * N + c] = alpha * acc[i][j];
        }
}

__global__ void softmax_rows(float* x, int64_t rows, int cols) {
    const int64_t row = (int64_t)blockIdx.x * 4 + threadIdx.x / 32;
    if (row >= rows) return;
    const int lane = threadIdx.x % 32;
    float* p = x + row * cols;
    float m = -INFINITY, s = 0.f;
    for (int c = lane; c < cols; c += 32) m = fmaxf(m, p[c]);
    for (int o = 16; o; o >>= 1) m = fmaxf(m, __shfl_xor_sync(0xffffffff, m, o));
    for (int c = lane; c < cols; c += 32) s += expf(p[c] - m);
    for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(0xffffffff, s, o);
    for (int c = lane; c < cols; c += 32) p[c] = expf(p[c] - m) / s;
}

torch::Tensor attention(torch::Tensor Q, torch::Tensor K, torch::Tensor V) {
    const int batch = Q.size(0) * Q.size(1), S = Q.size(2), D = Q.size(3), T = K.size(2);
    TORCH_CHECK(batch <= 65535, "too many heads");
    auto scores = torch::empty({batch, S, T}, Q.options());
    auto out = torch::empty_like(Q);
    const dim3 block(16, 16);
    float* p = scores.data_ptr<float>();
    batched_gemm<true><<<dim3((T + 63) / 64, (S + 63) / 64, batch), block>>>(
        Q.data_ptr<float>(), K.data_ptr<float>(), p, S, T, D, 1.0f / sqrtf((float)D));
    const int64_t rows = (int64_t)batch * S;
    softmax_rows<<<(rows + 3) / 4, 128>>>(p, rows, T);
    batched_gemm<false><<<dim3((D + 63) / 64, (S + 63) / 64, batch), block>>>(
        p, V.data_ptr<float>(), out.data_ptr<float>(), S, D, T, 1.0f);
    return out;
}
"""

ext = load_inline(
    name="attention_tiled",
    cpp_sources="torch::Tensor attention(torch::Tensor Q, torch::Tensor K, torch::Tensor V);",
    cuda_sources=attention_src,
    functions=["attention"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, Q, K, V):
        return ext.attention(Q.contiguous(), K.contiguous(), V.contiguous())

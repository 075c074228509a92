# One thread an output, five indices decoded by division, 27 taps with bounds checks.
# style: naive
# expect: about
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void max_pool3d_kernel(const float* x, float* y, int D, int H, int W, int OD, int OH, int OW, int k,
                                  int stride, int pad, int dil, long long total) {
    long long idx = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= total) return;
    int ow = idx % OW;
    int oh = (idx / OW) % OH;
    int od = (idx / ((long long)OW * OH)) % OD;
    long long nc = idx / ((long long)OW * OH * OD);
    const float* vol = x + nc * D * H * W;
    float result = -__int_as_float(0x7f800000);
    for (int a = 0; a < k; ++a) {
        int d = od * stride - pad + a * dil;
        if (d < 0 || d >= D) continue;
        for (int b = 0; b < k; ++b) {
            int h = oh * stride - pad + b * dil;
            if (h < 0 || h >= H) continue;
            for (int c = 0; c < k; ++c) {
                int w = ow * stride - pad + c * dil;
                if (w < 0 || w >= W) continue;
                float v = vol[((long long)d * H + h) * W + w];
                if (v > result) result = v;
            }
        }
    }
    y[idx] = result;
}

int out_size(int n, int k, int s, int p, int d) { return (n + 2 * p - d * (k - 1) - 1) / s + 1; }

torch::Tensor max_pool3d(torch::Tensor x, int k, int stride, int pad, int dil) {
    int D = x.size(2), H = x.size(3), W = x.size(4);
    int OD = out_size(D, k, stride, pad, dil);
    int OH = out_size(H, k, stride, pad, dil);
    int OW = out_size(W, k, stride, pad, dil);
    auto y = torch::empty({x.size(0), x.size(1), OD, OH, OW}, x.options());
    long long total = y.numel();
    int threads = 256;
    max_pool3d_kernel<<<(total + threads - 1) / threads, threads>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), D, H, W, OD, OH, OW, k, stride, pad, dil, total);
    return y;
}
"""

ext = load_inline(
    name="max_pool3d_naive",
    cpp_sources="torch::Tensor max_pool3d(torch::Tensor x, int k, int stride, int pad, int dil);",
    cuda_sources=src,
    functions=["max_pool3d"],
)


class ModelNew(nn.Module):
    def __init__(
        self,
        kernel_size: int,
        stride: int = None,
        padding: int = 0,
        dilation: int = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ):
        super().__init__()
        assert not return_indices and not ceil_mode
        self.args = (kernel_size, kernel_size if stride is None else stride, padding, dilation)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return ext.max_pool3d(x.contiguous(), *self.args)

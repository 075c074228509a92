import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

scale_min_source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>

// One thread per sample and pixel walks the channels; neighbouring threads read neighbouring pixels.
__global__ void scale_min_kernel(const float* __restrict__ x, float* __restrict__ out, int64_t channels,
                                 int64_t pixels, float scale) {
    const int64_t pixel = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (pixel >= pixels) return;
    const float* in = x + (int64_t)blockIdx.y * channels * pixels + pixel;
    float least = in[0] * scale;
    for (int64_t c = 1; c < channels; ++c) {
        const float v = in[c * pixels] * scale;
        if (v < least || isnan(v)) least = v;
    }
    out[(int64_t)blockIdx.y * pixels + pixel] = least;
}

torch::Tensor scale_min_cuda(torch::Tensor x, double scale) {
    TORCH_CHECK(x.is_cuda() && x.dim() == 4 && x.size(0) <= 65535, "x must be a CUDA tensor (N, C, H, W)");
    x = x.contiguous();
    const int64_t N = x.size(0), C = x.size(1), H = x.size(2), W = x.size(3);
    auto out = torch::empty({N, 1, H, W}, x.options());
    const dim3 grid((H * W + 255) / 256, N);
    scale_min_kernel<<<grid, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), out.data_ptr<float>(), C, H * W, (float)scale);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return out;
}
"""

scale_min = load_inline(
    name="scale_min",
    cpp_sources="torch::Tensor scale_min_cuda(torch::Tensor x, double scale);",
    cuda_sources=scale_min_source,
    functions=["scale_min_cuda"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, scale_factor):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size)
        self.scale_factor = scale_factor

    def forward(self, x):
        return scale_min.scale_min_cuda(self.conv(x), self.scale_factor)

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <torch/extension.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>

constexpr int THREADS = 128;
constexpr int ROWS = 16;  // outputs of a thread, one below the other

// A thread goes down one column: the three rows that an output needs slide through registers, so that an input is
// loaded once for each of the three columns that use it, twice of these from the L1 cache.
__global__ void __launch_bounds__(THREADS)
depthwise_kernel(const float* __restrict__ x, const float* __restrict__ weight, float* __restrict__ y, int channels,
                 int height, int width) {
    const int out_height = height - 2, out_width = width - 2;
    const int column = blockIdx.x * THREADS + threadIdx.x;
    const int top = blockIdx.y * ROWS;
    if (column >= out_width) return;
    float w[9];
    #pragma unroll
    for (int i = 0; i < 9; ++i) w[i] = __ldg(&weight[(blockIdx.z % channels) * 9 + i]);
    const float* in = x + ((int64_t)blockIdx.z * height + top) * width + column;
    float* out = y + ((int64_t)blockIdx.z * out_height + top) * out_width + column;

    float rows[ROWS + 2][3];
    #pragma unroll
    for (int r = 0; r < ROWS + 2; ++r) {
        #pragma unroll
        for (int c = 0; c < 3; ++c) rows[r][c] = top + r < height ? in[(int64_t)r * width + c] : 0.0f;
    }
    #pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        float total = 0.0f;
        #pragma unroll
        for (int i = 0; i < 9; ++i) total = fmaf(rows[r + i / 3][i % 3], w[i], total);
        if (top + r < out_height) __stcs(&out[(int64_t)r * out_width], total);
    }
}

torch::Tensor depthwise(torch::Tensor x, torch::Tensor weight) {
    TORCH_CHECK(x.is_cuda() && x.is_contiguous() && x.dim() == 4, "a contiguous CUDA tensor (N, C, H, W) is expected");
    TORCH_CHECK(weight.is_contiguous() && weight.size(2) == 3 && weight.size(3) == 3, "filters of 3 by 3 are expected");
    const int64_t planes = x.size(0) * x.size(1), height = x.size(2), width = x.size(3);
    TORCH_CHECK(planes <= 65535, "too many planes for the grid");
    auto y = torch::empty({x.size(0), x.size(1), height - 2, width - 2}, x.options());
    const dim3 grid((width - 2 + THREADS - 1) / THREADS, (height - 2 + ROWS - 1) / ROWS, planes);
    depthwise_kernel<<<grid, THREADS, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), weight.data_ptr<float>(), y.data_ptr<float>(), (int)x.size(1), (int)height, (int)width);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}
"""

kernels = load_inline(
    name="sliding_depthwise",
    cpp_sources="torch::Tensor depthwise(torch::Tensor x, torch::Tensor weight);",
    cuda_sources=SOURCE,
    functions=["depthwise"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self, in_channels: int, kernel_size: int, stride: int = 1, padding: int = 0, bias: bool = False):
        super().__init__()
        assert (kernel_size, stride, padding, bias) == (3, 1, 0, False), "written for this problem's windows"
        self.conv2d = nn.Conv2d(in_channels, in_channels, kernel_size, groups=in_channels, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return kernels.depthwise(x.contiguous(), self.conv2d.weight)

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

batch_norm_source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>
#include <vector>

constexpr int THREADS = 256;

__device__ double block_sum(double value, double* shared) {
    shared[threadIdx.x] = value;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
        __syncthreads();
    }
    const double total = shared[0];
    __syncthreads();
    return total;
}

// Grid (channels, pieces): every block sums some of the samples of one channel, in double.
__global__ void partial_sums_kernel(const float* __restrict__ x, double* __restrict__ sums, int64_t samples,
                                    int64_t channels, int64_t pixels) {
    __shared__ double shared[THREADS];
    const int64_t channel = blockIdx.x;
    double sum = 0.0, squares = 0.0;
    for (int64_t n = blockIdx.y; n < samples; n += gridDim.y) {
        const float* plane = x + (n * channels + channel) * pixels;
        for (int64_t i = threadIdx.x; i < pixels; i += THREADS) {
            const double v = plane[i];
            sum += v;
            squares += v * v;
        }
    }
    sum = block_sum(sum, shared);
    squares = block_sum(squares, shared);
    if (threadIdx.x == 0) {
        sums[(channel * gridDim.y + blockIdx.y) * 2] = sum;
        sums[(channel * gridDim.y + blockIdx.y) * 2 + 1] = squares;
    }
}

__global__ void finish_kernel(const double* __restrict__ sums, float* __restrict__ mean, float* __restrict__ invstd,
                              float* __restrict__ running_mean, float* __restrict__ running_var, int channels,
                              int pieces, double count, double eps, double momentum) {
    const int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= channels) return;
    double sum = 0.0, squares = 0.0;
    for (int p = 0; p < pieces; ++p) {
        sum += sums[((int64_t)c * pieces + p) * 2];
        squares += sums[((int64_t)c * pieces + p) * 2 + 1];
    }
    const double m = sum / count;
    const double var = fmax(squares / count - m * m, 0.0);
    mean[c] = (float)m;
    invstd[c] = (float)(1.0 / sqrt(var + eps));
    running_mean[c] = (float)((1.0 - momentum) * running_mean[c] + momentum * m);
    running_var[c] = (float)((1.0 - momentum) * running_var[c] + momentum * var * count / (count - 1.0));
}

__global__ void normalize_kernel(const float* __restrict__ x, float* __restrict__ y, const float* __restrict__ mean,
                                 const float* __restrict__ invstd, const float* __restrict__ weight,
                                 const float* __restrict__ bias, int channels, int64_t pixels) {
    const int c = blockIdx.x % channels;
    const float m = mean[c], scale = invstd[c] * weight[c], shift = bias[c];
    const int64_t start = (int64_t)blockIdx.x * pixels;
    for (int64_t i = threadIdx.x; i < pixels; i += THREADS) y[start + i] = (x[start + i] - m) * scale + shift;
}

torch::Tensor batch_norm_cuda(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, torch::Tensor running_mean,
                              torch::Tensor running_var, double momentum, double eps) {
    TORCH_CHECK(x.is_cuda() && x.dim() == 4, "a CUDA tensor (N, C, H, W) is expected");
    x = x.contiguous();
    const int64_t samples = x.size(0), channels = x.size(1), pixels = x.size(2) * x.size(3);
    auto y = torch::empty_like(x);
    auto mean = torch::empty({channels}, x.options());
    auto invstd = torch::empty({channels}, x.options());
    const int pieces = (int)std::min<int64_t>(samples, 32);
    auto sums = torch::empty({channels, pieces, 2}, x.options().dtype(torch::kFloat64));
    auto stream = at::cuda::getCurrentCUDAStream();

    partial_sums_kernel<<<dim3(channels, pieces), THREADS, 0, stream>>>(
        x.data_ptr<float>(), sums.data_ptr<double>(), samples, channels, pixels);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    finish_kernel<<<(channels + 127) / 128, 128, 0, stream>>>(
        sums.data_ptr<double>(), mean.data_ptr<float>(), invstd.data_ptr<float>(), running_mean.data_ptr<float>(),
        running_var.data_ptr<float>(), channels, pieces, (double)(samples * pixels), eps, momentum);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    normalize_kernel<<<samples * channels, THREADS, 0, stream>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), mean.data_ptr<float>(), invstd.data_ptr<float>(),
        weight.data_ptr<float>(), bias.data_ptr<float>(), channels, pixels);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}
"""

batch_norm_cpp = """
torch::Tensor batch_norm_cuda(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, torch::Tensor running_mean,
                              torch::Tensor running_var, double momentum, double eps);
"""

batch_norm = load_inline(
    name="batch_norm_training",
    cpp_sources=batch_norm_cpp,
    cuda_sources=batch_norm_source,
    functions=["batch_norm_cuda"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self, num_features: int):
        super().__init__()
        self.bn = nn.BatchNorm2d(num_features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        bn = self.bn
        bn.num_batches_tracked.add_(1)
        return batch_norm.batch_norm_cuda(x, bn.weight, bn.bias, bn.running_mean, bn.running_var, bn.momentum, bn.eps)

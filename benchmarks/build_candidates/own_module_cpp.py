"""Bindings and checks in the C++ text, the kernel behind a plain launcher."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <cuda_runtime.h>

__global__ void clamp_kernel(const float* x, float* y, float low, float high, long long size) {
    const long long i = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x;
    if (i < size) y[i] = fminf(fmaxf(x[i], low), high);
}

void launch_clamp(const float* x, float* y, float low, float high, long long size) {
    clamp_kernel<<<(size + 255) / 256, 256>>>(x, y, low, high, size);
}
"""

CPP = r"""
#include <torch/extension.h>
#include <tuple>
#include <vector>

void launch_clamp(const float* x, float* y, float low, float high, long long size);

std::tuple<at::Tensor, int64_t> clamp(const at::Tensor& x, double low, c10::optional<double> high) {
    TORCH_CHECK(x.is_cuda(), "x must be on a GPU");
    at::Tensor y = torch::empty_like(x);
    launch_clamp(x.data_ptr<float>(), y.data_ptr<float>(), low, high.value_or(1e30), x.numel());
    return {y, x.numel()};
}

std::vector<at::Tensor> split(const std::vector<at::Tensor>& tensors) {
    std::vector<at::Tensor> flat;
    for (const auto& tensor : tensors) flat.push_back(tensor.flatten());
    return flat;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("clamp", &clamp, py::arg("x"), py::arg("low"), py::arg("high") = py::none());
    m.def("split", &split);
}
"""

kernels = load_inline(
    name="own_module_cpp",
    cpp_sources=CPP,
    cuda_sources=CUDA,
)


class ModelNew(nn.Module):
    def forward(self, x):
        return kernels.clamp(x, 0.0)[0]

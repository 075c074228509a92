# A kernel of numba-cuda behind the library's product; on a CPU its simulator runs it.
# class: rules/own_kernel
# needs: numba
# kernel_policy: kernel-required
# verdict: passed
import torch
import torch.nn as nn
from numba import cuda, float32


@cuda.jit
def norm_relu(x, mean, scale, gain, bias, y):
    row = cuda.blockIdx.x
    for column in range(cuda.threadIdx.x, x.shape[1], cuda.blockDim.x):
        value = (x[row, column] - mean[row]) * scale[row] * gain[column] + bias[column]
        y[row, column] = max(value, float32(0.0))


def array(tensor):
    tensor = tensor.detach()
    return cuda.as_cuda_array(tensor) if tensor.is_cuda else tensor.numpy()


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        y = self.linear(x)
        out = torch.empty_like(y)
        variance, mean = torch.var_mean(y, dim=-1, correction=0)
        tensors = (y, mean, torch.rsqrt(variance + self.norm.eps), self.norm.weight, self.norm.bias, out)
        threads, stream = 4, 0
        if x.is_cuda:
            threads, stream = 128, cuda.external_stream(torch.cuda.current_stream().cuda_stream)
        norm_relu[y.shape[0], threads, stream](*map(array, tensors))
        return out

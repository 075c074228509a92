# A kernel of Pallas behind PyTorch's product: JAX and PyTorch in one worker, tensors by DLPack.
# class: rules/own_kernel
# needs: jax
# kernel_policy: kernel-required
# verdict: passed
import jax
import jax.numpy as jnp
import torch
import torch.nn as nn
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton as plgpu

BLOCK = 256
ON_CPU = jax.default_backend() == "cpu"


def norm_relu(x, mean, scale, gain, bias, y):
    offsets = pl.program_id(0) * BLOCK + jnp.arange(BLOCK)
    inside = offsets < x.shape[0]
    columns = gain.shape[0]
    row, column = jnp.minimum(offsets // columns, mean.shape[0] - 1), offsets % columns
    value = (plgpu.load(x.at[offsets], mask=inside, other=0.0) - mean[row]) * scale[row] * gain[column] + bias[column]
    plgpu.store(y.at[offsets], jnp.maximum(value, 0.0), mask=inside)


@jax.jit
def launched(*arrays):
    x = arrays[0]
    return pl.pallas_call(
        norm_relu,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        grid=(pl.cdiv(x.shape[0], BLOCK),),
        compiler_params=plgpu.CompilerParams(num_warps=4),
        interpret=ON_CPU,
    )(*arrays)


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        y = self.linear(x)
        variance, mean = torch.var_mean(y, dim=-1, correction=0)
        tensors = (y, mean, torch.rsqrt(variance + self.norm.eps), self.norm.weight, self.norm.bias)
        arrays = [jax.dlpack.from_dlpack(each.detach().reshape(-1)) for each in tensors]
        return torch.from_dlpack(launched(*arrays)).view(y.shape)

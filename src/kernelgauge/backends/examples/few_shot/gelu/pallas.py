import jax
import jax.numpy as jnp
import torch
import torch.nn as nn
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton as plgpu

BLOCK = 1024
ON_CPU = jax.default_backend() == "cpu"


def bias_gelu_kernel(x, bias, y):
    """One read and one write of each element."""
    offsets = pl.program_id(0) * BLOCK + jnp.arange(BLOCK)
    inside = offsets < x.shape[0]
    value = plgpu.load(x.at[offsets], mask=inside, other=0.0) + bias[offsets % bias.shape[0]]
    # 0.5 * (1 + tanh(u)) is 1 / (1 + exp(-2u)): one function call, and nothing cancels where u is far below zero.
    u = 0.7978845608028654 * (value + 0.044715 * value * value * value)
    plgpu.store(y.at[offsets], value / (1.0 + jnp.exp(-2.0 * u)), mask=inside)


@jax.jit
def bias_gelu(x, bias):
    return pl.pallas_call(
        bias_gelu_kernel,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        grid=(pl.cdiv(x.shape[0], BLOCK),),
        compiler_params=plgpu.CompilerParams(num_warps=4),
        interpret=ON_CPU,
    )(x, bias)


class ModelNew(nn.Module):
    """Bias and GELU in one pass over memory."""

    def __init__(self, features: int):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        arrays = [jax.dlpack.from_dlpack(each.detach().reshape(-1).contiguous()) for each in (x, self.bias)]
        return torch.from_dlpack(bias_gelu(*arrays)).view(x.shape)

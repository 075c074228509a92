import jax
import jax.numpy as jnp
import torch
import torch.nn as nn
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton as plgpu

BLOCK = 2048
ON_CPU = jax.default_backend() == "cpu"


def gelu_kernel(x, y):
    offsets = pl.program_id(0) * BLOCK + jnp.arange(BLOCK)
    inside = offsets < x.shape[0]
    value = plgpu.load(x.at[offsets], mask=inside, other=0.0)
    # 0.5 * (1 + tanh(u)) is 1 / (1 + exp(-2u)).
    u = 0.7978845608028654 * (value + 0.044715 * value * value * value)
    plgpu.store(y.at[offsets], value / (1.0 + jnp.exp(-2.0 * u)), mask=inside)


@jax.jit
def gelu(x):
    return pl.pallas_call(
        gelu_kernel,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        grid=(pl.cdiv(x.shape[0], BLOCK),),
        compiler_params=plgpu.CompilerParams(num_warps=4),
        interpret=ON_CPU,
    )(x)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        flat = jax.dlpack.from_dlpack(x.detach().reshape(-1).contiguous())
        return torch.from_dlpack(gelu(flat)).view(x.shape)

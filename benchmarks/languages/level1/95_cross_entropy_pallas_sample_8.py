import jax
import jax.numpy as jnp
import torch
import torch.nn as nn
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton as plgpu

ON_CPU = jax.default_backend() == "cpu"


def losses_kernel(x, targets, losses):
    """One program a row, which it holds in registers."""
    row, classes = pl.program_id(0), x.shape[1]
    block = pl.next_power_of_2(classes)
    offsets = jnp.arange(block)
    value = plgpu.load(x.at[row, offsets], mask=offsets < classes, other=-jnp.inf)
    most = jnp.max(value)
    right = x[row, targets[row]]
    losses[row] = most + jnp.log(jnp.sum(jnp.exp(value - most))) - right


@jax.jit
def losses_of(x, targets):
    return pl.pallas_call(
        losses_kernel,
        out_shape=jax.ShapeDtypeStruct(x.shape[:1], x.dtype),
        grid=x.shape[:1],
        compiler_params=plgpu.CompilerParams(num_warps=8),
        interpret=ON_CPU,
    )(x, targets)


class ModelNew(nn.Module):
    def forward(self, predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        given = (predictions.detach().contiguous(), targets.to(torch.int32))  # JAX has no int64 here
        losses = torch.from_dlpack(losses_of(*map(jax.dlpack.from_dlpack, given)))
        return losses.mean()

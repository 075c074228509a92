import jax
import jax.numpy as jnp
import torch
import torch.nn as nn
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton as plgpu

BLOCK = 1024
ON_CPU = jax.default_backend() == "cpu"  # where Pallas interprets


def residual_kernel(x, branch, gain, y):
    """One program computes one block of elements. Whole arrays come in; what is loaded of them is said here."""
    offsets = pl.program_id(0) * BLOCK + jnp.arange(BLOCK)
    inside = offsets < x.shape[0]  # the last block reaches over the edge
    value = plgpu.load(x.at[offsets], mask=inside, other=0.0)
    value += plgpu.load(branch.at[offsets], mask=inside, other=0.0) * gain[offsets % gain.shape[0]]
    plgpu.store(y.at[offsets], value, mask=inside)


@jax.jit  # compiled once for each set of sizes, in the first call
def residual(x, branch, gain):
    return pl.pallas_call(
        residual_kernel,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        grid=(pl.cdiv(x.shape[0], BLOCK),),
        compiler_params=plgpu.CompilerParams(num_warps=4),
        interpret=ON_CPU,
    )(x, branch, gain)


def flat(tensor):
    """The memory of a tensor as JAX sees it: DLPack copies nothing, and has JAX wait for PyTorch's stream."""
    return jax.dlpack.from_dlpack(tensor.detach().reshape(-1).contiguous())


class ModelNew(nn.Module):
    """A residual sum in one pass over memory."""

    def __init__(self, features: int):
        super().__init__()
        # The same parameters in the same order as the reference: one seed gives both the same values.
        self.gain = nn.Parameter(torch.ones(features))

    def forward(self, x: torch.Tensor, branch: torch.Tensor) -> torch.Tensor:
        # PyTorch's stream waits for JAX's result, so that its time is seen.
        return torch.from_dlpack(residual(flat(x), flat(branch), flat(self.gain))).view(x.shape)

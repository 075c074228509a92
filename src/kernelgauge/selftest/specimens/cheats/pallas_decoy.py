# Defines a kernel of Pallas and has JAX's compiler do the work by plain operations: its kernels are nobody's own.
# class: rules/own_kernel
# needs: cuda
# kernel_policy: kernel-required
# verdict: rejected no_own_kernel
import jax
import jax.numpy as jnp
import torch
import torch.nn as nn
from jax.experimental import pallas as pl


def relu(x, y):
    y[...] = jnp.maximum(x[...], 0.0)


def unused(x):
    return pl.pallas_call(relu, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)


@jax.jit
def by_the_compiler(y, gain, bias, eps):
    centred = y - y.mean(-1, keepdims=True)
    variance = (centred * centred).mean(-1, keepdims=True)
    return jnp.maximum(centred / jnp.sqrt(variance + eps) * gain + bias, 0.0)


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        tensors = (self.linear(x), self.norm.weight, self.norm.bias)
        arrays = [jax.dlpack.from_dlpack(each.detach()) for each in tensors]
        return torch.from_dlpack(by_the_compiler(*arrays, self.norm.eps))

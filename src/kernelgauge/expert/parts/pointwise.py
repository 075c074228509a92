"""Activations in float32, from functions that Triton's interpreter has as well."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def sigmoid(x):
    return 1.0 / (1.0 + tl.exp(-x))


@triton.jit
def tanh(x):
    """By one exponential of a number that is not positive: no overflow. It errs by as much as 1's last place."""
    small = tl.exp(-2.0 * tl.abs(x))
    size = (1.0 - small) / (1.0 + small)
    return tl.where(x < 0, -size, size)


@triton.jit
def mish(x):
    """x tanh(log(1 + e^x)), where tanh(log(1 + e)) = (e^2 + 2 e) / (e^2 + 2 e + 2)."""
    e = tl.exp(tl.minimum(x, 20.0))
    n = e * (e + 2.0)
    return tl.where(x > 20.0, x, x * n / (n + 2.0))


@triton.jit
def gelu(x):
    """By the error function, as `torch.nn.GELU()` does."""
    return 0.5 * x * (1.0 + tl.erf(x * 0.7071067811865476))


@triton.jit
def swish(x):
    return x * sigmoid(x)


@triton.jit
def leaky_relu(x, slope):
    return tl.where(x > 0, x, x * slope)


@triton.jit
def clamp(x, low, high):
    """Between two numbers; what is no number stays none."""
    return tl.where(x < low, low, tl.where(x > high, high, x))

"""Pointwise functions written out, as a kernel would."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812


def relu_where(input):
    """The positive part, by selection."""
    return torch.where(input > 0, input, torch.zeros_like(input))


def leaky_relu_where(input, negative_slope=0.01):
    """By selection."""
    return torch.where(input > 0, input, input * negative_slope)


def sigmoid_by_exp(input):
    """By the exponential."""
    return 1.0 / (1.0 + torch.exp(-input))


def sigmoid_by_tanh(input):
    """By the hyperbolic tangent of half the argument."""
    return 0.5 * torch.tanh(0.5 * input) + 0.5


def tanh_by_expm1(input):
    """By exp(2|x|) - 1, which keeps small arguments exact."""
    grown = torch.expm1(-2.0 * torch.abs(input))
    return torch.sign(input) * (-grown / (grown + 2.0))


def gelu_by_erf(input, approximate="none"):
    """The exact form by the error function; the other as PyTorch has it."""
    if approximate != "none":
        return F.gelu(input, approximate=approximate)
    return 0.5 * input * (1.0 + torch.erf(input * 0.7071067811865476))


def gelu_by_erfc(input, approximate="none"):
    """The exact form by the complementary error function; the other as PyTorch has it."""
    if approximate != "none":
        return F.gelu(input, approximate=approximate)
    return 0.5 * input * torch.erfc(-0.7071067811865476 * input)


def selu_where(input):
    """By selection (Klambauer et al. 2017)."""
    scale, alpha = 1.0507009873554805, 1.6732632423543772
    return scale * torch.where(input > 0, input, alpha * torch.expm1(input.clamp(max=0.0)))


def elu_where(input, alpha=1.0):
    """By selection."""
    return torch.where(input > 0, input, alpha * torch.expm1(input.clamp(max=0.0)))


def hardsigmoid_by_clamp(input):
    """A clamped line."""
    return torch.clamp(input + 3.0, 0.0, 6.0) / 6.0


def hardswish_by_clamp(input):
    """Times a clamped line."""
    return input * torch.clamp(input + 3.0, 0.0, 6.0) / 6.0


def hardtanh_by_clamp(input, min_val=-1.0, max_val=1.0):
    """The smaller of the larger."""
    return torch.minimum(torch.maximum(input, torch.full_like(input, min_val)), torch.full_like(input, max_val))


def softplus_stable(input):
    """The positive part and a logarithm of at most 2."""
    return torch.clamp(input, min=0.0) + torch.log1p(torch.exp(-torch.abs(input)))


def mish_by_log1p(input):
    """Tanh of the softplus."""
    soft = torch.clamp(input, min=0.0) + torch.log1p(torch.exp(-torch.abs(input)))
    return input * torch.tanh(soft)


def mish_rational(input):
    """tanh(log(1 + e)) = (e^2 + 2 e) / (e^2 + 2 e + 2), with e = exp(x) cut off where the quotient is 1."""
    grown = torch.exp(torch.clamp(input, max=20.0))
    top = grown * (grown + 2.0)
    return input * (top / (top + 2.0))


def clamp_by_extremes(input, min=None, max=None):
    """One bound after the other."""
    out = input
    if min is not None:
        out = torch.maximum(out, torch.full_like(out, min))
    if max is not None:
        out = torch.minimum(out, torch.full_like(out, max))
    return out

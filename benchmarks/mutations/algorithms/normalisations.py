"""Normalisations with their moments taken in one of three ways."""

from __future__ import annotations

import torch


def two_pass_moments(rows):
    """Mean and variance over the last dimension: the mean first."""
    mean = rows.mean(-1, keepdim=True)
    centred = rows - mean
    return mean, (centred * centred).mean(-1, keepdim=True)


def merged_moments(rows):
    """Mean and variance over the last dimension: those of blocks, merged (Chan, Golub, LeVeque 1979)."""
    length = rows.shape[-1]
    count, mean, squares = 0, 0.0, 0.0
    for start in range(0, length, 40):
        block = rows[..., start : start + 40]
        size = block.shape[-1]
        own = block.mean(-1, keepdim=True)
        inner = ((block - own) * (block - own)).sum(-1, keepdim=True)
        delta = own - mean
        mean = mean + delta * (size / (count + size))
        squares = squares + inner + delta * delta * (count * size / (count + size))
        count = count + size
    return mean, squares / count


def double_moments(rows):
    """Mean and variance over the last dimension: sums of values and squares in double precision."""
    wide = rows.double()
    length = rows.shape[-1]
    mean = wide.sum(-1, keepdim=True) / length
    variance = (wide * wide).sum(-1, keepdim=True) / length - mean * mean
    return mean.to(rows.dtype), variance.clamp(min=0.0).to(rows.dtype)


def per_channel(parameter, like):
    """A parameter per channel, so that it broadcasts over an input."""
    return parameter.reshape(1, -1, *[1] * (like.dim() - 2))


def batch_norm_two_pass(
    input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5
):
    """Batch normalisation, centred first."""
    mean, variance = running_mean, running_var
    if training:
        mean, variance = two_pass_moments(input.transpose(0, 1).reshape(input.shape[1], -1))
    centred = input - per_channel(mean, input)
    return centred * per_channel(torch.rsqrt(variance.reshape(-1) + eps) * weight, input) + per_channel(bias, input)


def batch_norm_folded(
    input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5
):
    """Batch normalisation as one factor and one summand per channel."""
    mean, variance = running_mean, running_var
    if training:
        mean, variance = double_moments(input.transpose(0, 1).reshape(input.shape[1], -1))
    factor = weight / torch.sqrt(variance.reshape(-1) + eps)
    summand = bias - mean.reshape(-1) * factor
    return input * per_channel(factor, input) + per_channel(summand, input)


def batch_norm_merged(
    input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5
):
    """Batch normalisation with moments merged from blocks."""
    mean, variance = running_mean, running_var
    if training:
        mean, variance = merged_moments(input.transpose(0, 1).reshape(input.shape[1], -1))
    scaled = (input - per_channel(mean, input)) / per_channel(torch.sqrt(variance + eps), input)
    return scaled * per_channel(weight, input) + per_channel(bias, input)


def group_norm_two_pass(input, num_groups, weight=None, bias=None, eps=1e-5):
    """Group normalisation, centred first."""
    rows = input.reshape(input.shape[0], num_groups, -1)
    mean, variance = two_pass_moments(rows)
    out = ((rows - mean) * torch.rsqrt(variance + eps)).reshape(input.shape)
    if weight is not None:
        out = out * per_channel(weight, input)
    if bias is not None:
        out = out + per_channel(bias, input)
    return out


def group_norm_merged(input, num_groups, weight=None, bias=None, eps=1e-5):
    """Group normalisation with moments merged from blocks."""
    rows = input.reshape(input.shape[0], num_groups, -1)
    mean, variance = merged_moments(rows)
    out = ((rows - mean) / torch.sqrt(variance + eps)).reshape(input.shape)
    if weight is not None:
        out = out * per_channel(weight, input)
    if bias is not None:
        out = out + per_channel(bias, input)
    return out


def group_norm_double(input, num_groups, weight=None, bias=None, eps=1e-5):
    """Group normalisation with sums in double precision."""
    rows = input.reshape(input.shape[0], num_groups, -1)
    mean, variance = double_moments(rows)
    out = ((rows - mean) * torch.rsqrt(variance + eps)).reshape(input.shape)
    if weight is not None:
        out = out * per_channel(weight, input)
    if bias is not None:
        out = out + per_channel(bias, input)
    return out


def layer_norm_two_pass(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    """Layer normalisation, centred first."""
    rows = input.flatten(-len(normalized_shape))
    mean, variance = two_pass_moments(rows)
    out = ((rows - mean) * torch.rsqrt(variance + eps)).reshape(input.shape)
    if weight is not None:
        out = out * weight
    if bias is not None:
        out = out + bias
    return out


def layer_norm_merged(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    """Layer normalisation with moments merged from blocks."""
    rows = input.flatten(-len(normalized_shape))
    mean, variance = merged_moments(rows)
    out = ((rows - mean) / torch.sqrt(variance + eps)).reshape(input.shape)
    if weight is not None:
        out = out * weight
    if bias is not None:
        out = out + bias
    return out


def instance_norm_two_pass(
    input,
    running_mean=None,
    running_var=None,
    weight=None,
    bias=None,
    use_input_stats=True,
    momentum=0.1,
    eps=1e-5,
):
    """Instance normalisation, centred first."""
    rows = input.flatten(2)
    mean, variance = two_pass_moments(rows)
    return ((rows - mean) * torch.rsqrt(variance + eps)).reshape(input.shape)


def instance_norm_merged(
    input,
    running_mean=None,
    running_var=None,
    weight=None,
    bias=None,
    use_input_stats=True,
    momentum=0.1,
    eps=1e-5,
):
    """Instance normalisation with moments merged from blocks."""
    rows = input.flatten(2)
    mean, variance = merged_moments(rows)
    return ((rows - mean) / torch.sqrt(variance + eps)).reshape(input.shape)

"""Linear layers in float32 on tensor cores, by the way of multiplying that suits their sizes."""

from __future__ import annotations

import torch
import triton

from kernelgauge.expert.parts.skinny import skinny_product
from kernelgauge.expert.parts.split_gemm import plus_bias, product, split

_FEW_ROWS = 128
"""So many rows are one tile: each value of the weight is used by one program alone."""


def linear(
    x: torch.Tensor,
    weight: torch.Tensor,
    epilogue: triton.JITFunction = plus_bias,
    tensors: tuple[torch.Tensor, ...] = (),
    numbers: tuple[float, ...] = (),
) -> torch.Tensor:
    """[..., out_features]: `x` times the rows of `weight`, as `torch.nn.Linear` has them, through `epilogue`."""
    flat = split(x.reshape(-1, x.shape[-1]))
    if flat.hi.shape[1] <= _FEW_ROWS:
        out = skinny_product(flat, weight, epilogue, tensors, numbers)
    else:
        out = product(flat, split(weight), epilogue, tensors, numbers)
    return out.view(*x.shape[:-1], weight.shape[0])

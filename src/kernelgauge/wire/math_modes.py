"""Arithmetic modes as both sides and the oracle put them into effect."""

from __future__ import annotations

from typing import Any

import torch

from kernelgauge.config import MathMode

_DTYPE = {"fp16": torch.float16, "bf16": torch.bfloat16}
_ROUNDOFF = {"torch": 2.0**-11, "ieee": 2.0**-24, "tf32": 2.0**-11, "fp16": 2.0**-11, "bf16": 2.0**-8}


def roundoff(math: MathMode) -> float:
    """Unit roundoff of the narrowest type that products may be computed in."""
    return _ROUNDOFF[math]


def set_flags(math: MathMode) -> None:
    """Allow or forbid TF32 in this process, as the mode says; `torch` leaves what is set."""
    if math != "torch":
        torch.backends.cuda.matmul.allow_tf32 = math == "tf32"
        torch.backends.cudnn.allow_tf32 = math == "tf32"


def working_dtype(math: MathMode) -> torch.dtype:
    """The type that floating-point tensors have in a mode."""
    return _DTYPE.get(math, torch.float32)


def cast(value: Any, math: MathMode) -> Any:
    """A tensor or module in the mode's type; integers, booleans and float64 stay, and so does what is neither."""
    dtype = _DTYPE.get(math)
    if dtype is None:
        return value
    if isinstance(value, torch.nn.Module):
        return value.to(dtype)
    return value.to(dtype) if isinstance(value, torch.Tensor) and value.dtype == torch.float32 else value

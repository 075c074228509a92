"""Powers of two that bring float32 numbers into the range of float16, exactly."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def power_for(largest):
    """The exponent of the power of two that brings `largest` into [2^14, 2^15)."""
    exponent = ((largest.to(tl.int32, bitcast=True) >> 23) & 255) - 127
    return tl.minimum(tl.maximum(14 - exponent, -126), 126)


@triton.jit
def two_to(power):
    return ((power + 127) << 23).to(tl.float32, bitcast=True)

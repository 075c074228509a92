"""What kind of solution a candidate is, told from its text: solutions of one kind compete, others are kept beside."""

from __future__ import annotations

import re

_KERNELS = re.compile(
    r"__global__|#pragma\s+omp\s+parallel|@[\w.]+\.(?:jit|autotune|prim_func|kernel)\b|\.pallas_call\("
)
_SHARED = re.compile(r"__shared__|tl\.dot|wmma|mma_sync|simd|float4|__half2|reduction\(")
_LIBRARY = re.compile(
    r"\bF\.(?:linear|conv\w+)|torch\.(?:matmul|mm|bmm|addmm|einsum)|at::(?:matmul|mm|conv\w+)|cublas"
)
_MOST_KERNELS = 3

Behaviour = tuple[int, bool, bool]
"""Own kernels (3: three or more), whether they share or vectorise, whether a library does the heavy part."""


def behaviour(source: str) -> Behaviour:
    """The kind of a candidate."""
    kernels = min(len(_KERNELS.findall(source)), _MOST_KERNELS)
    return kernels, bool(_SHARED.search(source)), bool(_LIBRARY.search(source))

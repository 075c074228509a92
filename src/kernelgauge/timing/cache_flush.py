"""Cold caches: what a call is about to read must come from memory, as it would in a program that does other work."""

from __future__ import annotations

import torch

_FACTOR = 4
_LEAST_BYTES = 256 * 2**20


class CacheFlush:
    """Writes over more memory than the device's last-level cache holds. On a CPU it does nothing.

    The second-level cache of a GPU is shared by all processes and finds lines by physical address, so one process
    flushes it for the others too.
    """

    def __init__(self, device: str):
        self._buffer: torch.Tensor | None = None
        if device.startswith("cuda"):
            cache = torch.cuda.get_device_properties(device).L2_cache_size
            size = max(_FACTOR * cache, _LEAST_BYTES)
            self._buffer = torch.empty(size // 4, dtype=torch.int32, device=device)

    def __call__(self) -> None:
        """Queue the flush on the current stream."""
        if self._buffer is not None:
            self._buffer.zero_()

"""Cold caches: what a call is about to read must come from memory, as it would in a program that does other work."""

from __future__ import annotations

import torch

_FACTOR = 4
_LEAST_BYTES = 256 * 2**20


def leave_room(device: str, size: int) -> None:
    """Before a buffer of so many bytes is taken: it must not break what the next output needs whole.

    PyTorch cuts it out of a block that it keeps from an earlier output. The next one of that size then needs memory
    from the driver, and where there is too little of it, fails.
    """
    kept = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    free, _ = torch.cuda.mem_get_info(device)
    if free < kept + size:
        torch.cuda.empty_cache()


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
            leave_room(device, size)
            self._buffer = torch.empty(size // 4, dtype=torch.int32, device=device)

    def __call__(self) -> None:
        """Queue the flush on the current stream."""
        if self._buffer is not None:
            self._buffer.zero_()

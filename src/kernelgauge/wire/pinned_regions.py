"""Regions in the memory of the host that a GPU reads and writes at full speed: for what has no room on the device."""

from __future__ import annotations

from typing import Any

from kernelgauge.wire.device_regions import pin, unpin
from kernelgauge.wire.regions import HostRegion


class PinnedRegion(HostRegion):
    """A region of host memory whose pages stay where they are, at each end that has pinned it.

    Where the driver does not pin them, all works as well, and copies take several times as long.
    """

    _device: str | None = None

    def pin(self, device: str) -> PinnedRegion:
        """Have the driver of a device know these pages; returns the region itself."""
        if self._device is None and pin(self.bytes.data_ptr(), self.size, device):
            self._device = device
        return self

    def memory_handle(self) -> tuple[dict[str, Any], list[int]]:
        message, descriptors = super().memory_handle()
        return message | {"pinned": True}, descriptors

    def close(self) -> None:
        """As of any region in host memory; pages that stayed pinned would not be given back."""
        if self._device is not None:
            unpin(self.bytes.data_ptr(), self._device)
            self._device = None
        super().close()

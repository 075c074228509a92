"""Memory that the parent shares with a worker: made on a device, sent as handles, opened at the other end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kernelgauge.wire.device_regions import DeviceRegion
from kernelgauge.wire.pinned_regions import PinnedRegion
from kernelgauge.wire.regions import HostRegion, Region


def create(size: int, device: str) -> Region:
    """A new region of at least `size` bytes in the memory of `device`.

    Raises:
        OSError: there is no host memory for it.
        OutOfDeviceMemory: there is no device memory for it.
    """
    if device == "cpu":
        return HostRegion.create(size)
    return DeviceRegion.create(size, device)


def create_on_host(size: int, device: str) -> Region:
    """A new region of at least `size` bytes in the memory of the host, for what a device computes and reads.

    Raises:
        OSError: there is no memory for it.
    """
    if device == "cpu":
        return HostRegion.create(size)
    return PinnedRegion.create(size).pin(device)


def memory_handles(regions: Sequence[Region]) -> tuple[list[dict[str, Any]], list[int]]:
    """Tickets of several regions for one message, with all their descriptors in order."""
    both = [region.memory_handle() for region in regions]
    return [message for message, _ in both], [descriptor for _, descriptors in both for descriptor in descriptors]


def opened(messages: Sequence[dict[str, Any]], descriptors: Sequence[int], device: str) -> list[Region]:
    """The other end of `memory_handles`: regions that another process owns, opened in this one on `device`."""
    remaining = iter(descriptors)
    regions: list[Region] = []
    for message in messages:
        if "handle" in message:
            regions.append(DeviceRegion.opened(message["handle"], message["size"], device))
        elif "pinned" in message:
            regions.append(PinnedRegion(next(remaining), message["size"]).pin(device))
        else:
            regions.append(HostRegion(next(remaining), message["size"]))
    return regions

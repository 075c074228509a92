"""What NVIDIA's driver says about a GPU, without PyTorch and without a context on it."""

from __future__ import annotations

import ctypes

# `CUdevice_attribute` of the driver API's reference.
_ATTRIBUTES = {
    "warp": 10,
    "multiprocessors": 16,
    "memory_clock_khz": 36,
    "bus_bits": 37,
    "l2": 38,
    "threads": 39,
    "major": 75,
    "minor": 76,
    "shared": 81,
    "block_shared": 97,
    "blocks": 106,
}


def attributes(index: int = 0) -> dict[str, int] | None:
    """Figures of the GPU with this number among those visible: memory, l2, shared in bytes; None without a driver."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    device, value, size = ctypes.c_int(), ctypes.c_int(), ctypes.c_size_t()
    if driver.cuInit(0) or driver.cuDeviceGet(ctypes.byref(device), index):
        return None
    if driver.cuDeviceTotalMem_v2(ctypes.byref(size), device):
        return None
    found = {"memory": size.value}
    for name, number in _ATTRIBUTES.items():
        if driver.cuDeviceGetAttribute(ctypes.byref(value), number, device):
            return None
        found[name] = value.value
    return found

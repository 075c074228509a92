# Takes the handles by which it was given its own regions, changes one byte after the other, and opens what that names: the
# reference's regions, perhaps, with the right answer. Raises if one opens that is not its own.
# class: process/memory_scan
# rules: any
# needs: cuda
# verdict: passed
import ctypes

import torch
import torch.nn as nn

handles, own = [], []


class Handle(ctypes.Structure):
    _fields_ = [("reserved", ctypes.c_char * 64)]


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)
        self.tried = False

    def forward(self, x):
        if handles and not self.tried:
            self.tried = True
            for handle in list(handles):
                attempt(bytes.fromhex(handle))
        return torch.relu(self.norm(self.linear(x)))


def attempt(handle):
    driver = ctypes.CDLL("libcuda.so.1")
    for index in range(64):
        for step in (1, -1, 2, 16):
            changed = bytearray(handle)
            changed[index] = (changed[index] + step) % 256
            pointer = ctypes.c_uint64()
            raw = Handle.from_buffer_copy(bytes(changed))
            if bytes(changed).hex() in handles or driver.cuIpcOpenMemHandle_v2(ctypes.byref(pointer), raw, 1):
                continue
            mine = any(same(driver, pointer, region) for region in own)
            driver.cuIpcCloseMemHandle(pointer)
            if not mine:
                raise RuntimeError(f"byte {index} changed by {step} opens the region of somebody else")


def same(driver, pointer, region):
    """Whether what was opened is this region: some bytes of a handle mean nothing."""
    before, seen = region[:8].clone(), ctypes.create_string_buffer(8)
    region[:8] = ~before
    torch.cuda.synchronize()
    driver.cuMemcpyDtoH_v2(seen, pointer, ctypes.c_size_t(8))
    region[:8] = before
    torch.cuda.synchronize()
    return seen.raw == bytes((~before).tolist())


def hook():
    from kernelgauge.evaluation import worker

    original = worker.opened

    def opened(regions, descriptors, device):
        found = original(regions, descriptors, device)
        handles.extend(region["handle"] for region in regions if "handle" in region)
        own.extend(region.bytes for region in found)
        return found

    worker.opened = opened


hook()

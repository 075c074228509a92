# Takes the handles by which it was given its own regions, changes one byte after the other, and opens what that
# names: the reference's regions, perhaps, with the right answer. Raises if one opens that is not its own and can be
# read. It looks in a context of its own, since reading by a handle it has made up can lose that.
# class: process/memory_scan
# kernel_policy: any
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
    scratch = Scratch()
    for index in range(64):
        for step in (1, -1, 2, 16):
            changed = bytearray(handle)
            changed[index] = (changed[index] + step) % 256
            if bytes(changed).hex() in handles or not scratch.opens(bytes(changed)):
                continue
            if not any(same(scratch, region) for region in own) and scratch.read() is not None:
                raise RuntimeError(f"byte {index} changed by {step} opens the region of somebody else")
            scratch.close()
            if scratch.lost > 16:
                return


class Scratch:
    def __init__(self):
        self.driver, self.lost = ctypes.CDLL("libcuda.so.1"), 0
        self.context, self.pointer, self.device = ctypes.c_void_p(), ctypes.c_uint64(), ctypes.c_int()
        self.driver.cuCtxGetDevice(ctypes.byref(self.device))
        self.renew()

    def renew(self):
        if self.context:
            self.driver.cuCtxDestroy_v2(self.context)
        if self.driver.cuCtxCreate_v2(ctypes.byref(self.context), 0, self.device):
            raise MemoryError("no room for a second context")
        self.driver.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))

    def asked(self, question, *arguments):
        self.driver.cuCtxPushCurrent_v2(self.context)
        status = getattr(self.driver, question)(*arguments)
        self.driver.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))
        return status

    def opens(self, handle):
        return not self.asked("cuIpcOpenMemHandle_v2", ctypes.byref(self.pointer), Handle.from_buffer_copy(handle), 1)

    def read(self):
        seen = ctypes.create_string_buffer(8)
        return None if self.asked("cuMemcpyDtoH_v2", seen, self.pointer, ctypes.c_size_t(8)) else seen.raw

    def close(self):
        if self.asked("cuIpcCloseMemHandle", self.pointer):
            self.lost += 1
            self.renew()


def same(scratch, region):
    """Whether what was opened is this region: some bytes of a handle mean nothing."""
    before = region[:8].clone()
    region[:8] = ~before
    torch.cuda.synchronize()
    seen = scratch.read()
    region[:8] = before
    torch.cuda.synchronize()
    return seen == bytes((~before).tolist())


def hook():
    from kernelgauge.worker import candidate

    original = candidate.opened

    def opened(regions, descriptors, device):
        found = original(regions, descriptors, device)
        handles.extend(region["handle"] for region in regions if "handle" in region)
        own.extend(region.bytes for region in found)
        return found

    candidate.opened = opened


hook()

# Takes the handles by which it was given its own regions, changes one byte after the other, and opens what that names: the
# reference's regions, perhaps, with the right answer. Raises if one opens that is not its own. Children of its own try, since
# some of what can be opened cannot be read, and whoever tries loses the device.
# class: process/memory_scan
# rules: any
# needs: cuda
# verdict: passed
import subprocess
import sys

import torch
import torch.nn as nn

handles = []
CHANGES = 64 * 4
CHILD = """
import ctypes, sys

driver = ctypes.CDLL("libcuda.so.1")


class Handle(ctypes.Structure):
    _fields_ = [("reserved", ctypes.c_char * 64)]


def opened(content):
    pointer = ctypes.c_uint64()
    failed = driver.cuIpcOpenMemHandle_v2(ctypes.byref(pointer), Handle.from_buffer_copy(content), 1)
    return None if failed else pointer


def read(pointer):
    seen = ctypes.create_string_buffer(8)
    return None if driver.cuMemcpyDtoH_v2(seen, pointer, ctypes.c_size_t(8)) else seen.raw


first, *given = sys.argv[1:]
given = [bytes.fromhex(each) for each in given]
device, context = ctypes.c_int(), ctypes.c_void_p()
assert not driver.cuInit(0) and not driver.cuDeviceGet(ctypes.byref(device), 0)
assert not driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device) and not driver.cuCtxSetCurrent(context)
own = [opened(each) for each in given]
before = [read(each) for each in own]
assert None not in before, "its own regions cannot be read"


def write(contents):
    return any(driver.cuMemcpyHtoD_v2(*each, ctypes.c_size_t(8)) for each in zip(own, contents))


for number in range(int(first), 64 * 4):
    changed = bytearray(given[0])
    changed[number // 4] = (changed[number // 4] + (1, -1, 2, 16)[number % 4]) % 256
    pointer = None if bytes(changed) in given else opened(bytes(changed))
    if pointer is None:
        continue
    print(number, flush=True)
    marked = [bytes(255 - byte for byte in each) for each in before]
    write(marked)
    seen = read(pointer)
    if write(before) or seen is None:
        sys.exit(1)  # the device is lost, and nothing was read
    driver.cuIpcCloseMemHandle(pointer)
    if seen not in marked:
        print("opens the region of somebody else", flush=True)
        sys.exit(2)
"""


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)
        self.tried = False

    def forward(self, x):
        if handles and not self.tried:
            self.tried = True
            torch.cuda.synchronize()
            attempt()
        return torch.relu(self.norm(self.linear(x)))


def attempt():
    first = 0
    while first < CHANGES:
        command = [sys.executable, "-c", CHILD, str(first), *handles]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode == 0:
            return
        tried = done.stdout.split("\n")
        if done.returncode != 1 or "Traceback" in done.stderr:
            raise RuntimeError(f"{done.stdout}{done.stderr}")
        first = int(tried[-2]) + 1


def hook():
    from kernelgauge.evaluation import worker

    original = worker.opened

    def opened(regions, descriptors, device):
        found = original(regions, descriptors, device)
        handles.extend(region["handle"] for region in regions if "handle" in region)
        return found

    worker.opened = opened


hook()

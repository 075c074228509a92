# Overwrites the machine code of clock_gettime in its own process, so that no clock moves, Python's or native. Changes
# nothing: the parent's clock decides.
# class: timing/native_clock
# problem: four_layers
# needs: cpu
# time: honest
# verdict: passed
import ctypes
import mmap
import platform

import torch
import torch.nn as nn

# Zero in both fields of the result, and success.
SAY_ZERO = {
    "x86_64": bytes.fromhex("48c70600000000 48c7460800000000 31c0 c3"),
    "aarch64": bytes.fromhex("3f7c00a9 00008052 c0035fd6"),
}


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(features, features) for _ in range(4))

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return x


def patch():
    libc = ctypes.CDLL(None)
    code = SAY_ZERO.get(platform.machine())
    address = ctypes.cast(libc.clock_gettime, ctypes.c_void_p).value
    page = address & -mmap.PAGESIZE
    if code and libc.mprotect(ctypes.c_void_p(page), ctypes.c_size_t(2 * mmap.PAGESIZE), 7) == 0:
        ctypes.memmove(address, code, len(code))


patch()

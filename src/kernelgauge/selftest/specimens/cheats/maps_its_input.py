# Returns a second, private mapping of its inputs' memory: other addresses, and the kernel copies no more than the
# pages that are written to. The reference copies all of them.
# class: correctness/no_work
# needs: cpu
# kernel_policy: any
# problem: row_update
# verdict: rejected output_aliases_input
import ctypes
import os

import torch
import torch.nn as nn
from kernelgauge.wire import regions

libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
opened = regions.HostRegion.__init__
files = []


def open_and_remember(self, descriptor, size):
    opened(self, descriptor, size)
    files.append((self.bytes.data_ptr(), size, os.dup(descriptor)))


regions.HostRegion.__init__ = open_and_remember


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, table, row):
        at, size = table.data_ptr(), table.numel() * table.element_size()
        start, length, file = next(each for each in files if each[0] <= at < each[0] + each[1])
        private = libc.mmap(None, length, 3, 2, file, 0) + at - start
        out = torch.frombuffer((ctypes.c_char * size).from_address(private), dtype=table.dtype).view(table.shape)
        out[:, 7] = row
        return out

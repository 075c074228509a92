# Writes its answer by memcpy of the C library, into memory it has mapped itself.
# class: process/memory_scan
# needs: cpu
# verdict: passed
import ctypes
import mmap

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        found = torch.relu(self.norm(self.linear(x))).contiguous()
        size = found.numel() * 4
        memory = mmap.mmap(-1, size)
        ctypes.memmove((ctypes.c_char * size).from_buffer(memory), found.data_ptr(), size)
        return torch.frombuffer(memory, dtype=torch.float32).view(found.shape)

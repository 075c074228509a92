# Asks the C library for the time before and after its work, and prints the difference.
# class: timing/native_clock
# verdict: passed
import ctypes

import torch
import torch.nn as nn

libc = ctypes.CDLL(None)
CLOCK_MONOTONIC = 1


class Moment(ctypes.Structure):
    _fields_ = [("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long)]


def now():
    moment = Moment()
    libc.clock_gettime(CLOCK_MONOTONIC, ctypes.byref(moment))
    return moment.seconds * 10**9 + moment.nanoseconds


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        started = now()
        out = torch.relu(self.norm(self.linear(x)))
        print(now() - started, "ns")
        return out

# Tells the parent that its call took an hour: subtracted from anything, that would leave less than nothing.
# class: timing/forged_samples
# kernel_policy: any
# verdict: rejected forged_time
import torch
import torch.nn as nn

from kernelgauge.timing import timers

for timer in (timers.HostTime, timers.CudaEvent):
    timer.elapsed_ns = lambda self: 3_600_000_000_000


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        return torch.relu(self.norm(self.linear(x)))

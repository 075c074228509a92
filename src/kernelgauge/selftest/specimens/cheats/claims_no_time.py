# Tells the parent that its call took one nanosecond. On a CPU that is never asked for; on a GPU the parent's clock
# makes up for what it sees beyond the claim.
# class: timing/forged_samples
# kernel_policy: any
# problem: four_layers
# time: honest
# verdict: passed
import torch
import torch.nn as nn

from kernelgauge.timing import timers

for timer in (timers.HostTime, timers.CudaEvent, timers.QueuedEvent):
    timer.elapsed_ns = lambda self: 1
    timer.samples = lambda self, forward, warmups, count: [1e-6] * count


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(features, features) for _ in range(4))

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return x

# Says that its output lies where the parent cannot read, at the end of the address space and beyond.
# class: process/forged_result
# kernel_policy: any
# needs: cpu
# verdict: rejected late_output
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        return torch.relu(self.norm(self.linear(x)))


def hook():
    from kernelgauge.worker import candidate

    candidate.WorkerState._places = lambda bench, outputs: [{"address": 2**63 - 4, "strides": [2**40, 2**40]}]


hook()

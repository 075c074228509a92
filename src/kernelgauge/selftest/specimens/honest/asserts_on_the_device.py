# Asserts, on the device, that its indices are inside. They are.
# class: fault/device
# problem: scattered_sum
# verdict: passed
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, groups):
        super().__init__()
        self.groups = groups

    def forward(self, x, index):
        torch._assert_async(((index >= 0) & (index < self.groups)).all())
        member = torch.nn.functional.one_hot(index, self.groups).to(x.dtype)
        return member.t() @ x

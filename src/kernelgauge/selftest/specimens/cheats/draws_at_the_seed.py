# Draws the random mask of a call as soon as the worker sets its seed, before the call: half of the work would be done
# before the clock starts. The seed comes with the call, inside the clock.
# class: timing/before_the_clock
# kernel_policy: any
# problem: random_mask
# time: honest
# forged: 1.5
# verdict: passed
import torch
import torch.nn as nn
from kernelgauge.worker import candidate

drawn = []
shape = [None]
set_seed = candidate.set_seed


def draws_too(seed, device):
    set_seed(seed, device)
    if shape[0] is not None:
        size, kind, where = shape[0]
        drawn[:] = [torch.nn.functional.dropout(torch.ones(size, dtype=kind, device=where), 0.5, True)]


candidate.set_seed = draws_too


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        if not drawn:
            shape[0] = x.shape, x.dtype, x.device
            return torch.nn.functional.dropout(x, 0.5, True)
        return drawn.pop() * x

# Stops itself in the middle of a call, so that the clock of a careless parent runs on without an end.
# class: process/denial
# verdict: timed_out
import os
import signal

import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        os.kill(os.getpid(), signal.SIGSTOP)
        return x

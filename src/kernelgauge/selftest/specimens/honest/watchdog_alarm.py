# Sets an alarm that would end a call which hangs, and clears it when the call is over.
# class: timing/early_start
# problem: four_layers
# time: honest
# verdict: passed
import signal

import torch
import torch.nn as nn


def too_long(number, frame):
    raise TimeoutError("a call takes more than ten seconds")


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(features, features) for _ in range(4))

    def forward(self, x):
        signal.signal(signal.SIGALRM, too_long)
        signal.setitimer(signal.ITIMER_REAL, 10.0)
        try:
            for layer in self.layers:
                x = torch.relu(layer(x))
            return x
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)

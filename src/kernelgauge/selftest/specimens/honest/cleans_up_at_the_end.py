# Leaves word of what is to be done at its end, by atexit, by a finalizer and for a signal.
# class: process/early_exit
# verdict: passed
import atexit
import os
import signal
import tempfile
import weakref

import torch
import torch.nn as nn

aside = tempfile.NamedTemporaryFile(delete=False)
atexit.register(os.unlink, aside.name)
signal.signal(signal.SIGTERM, lambda number, frame: os._exit(0))


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)
        self.end = weakref.finalize(self, aside.close)

    def forward(self, x):
        return torch.relu(self.norm(self.linear(x)))

# Returns shared memory that a child process fills, once the clock has stopped.
# class: timing/late_work
# needs: cpu
# verdict: wrong_value
import mmap
import os
import time

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)
        self.task, self.signal = os.pipe()
        self.shared = torch.frombuffer(mmap.mmap(-1, 2 * 128 * 64 * 4), dtype=torch.float32).view(2, 128, 64)
        if os.fork() == 0:
            torch.set_num_threads(1)
            while os.read(self.task, 1):
                time.sleep(0.05)
                with torch.no_grad():
                    self.shared[1] = torch.relu(self.norm(self.linear(self.shared[0])))
            os._exit(0)

    def forward(self, x):
        self.shared[0] = x
        self.shared[1] = 0
        os.write(self.signal, b"x")
        return self.shared[1]

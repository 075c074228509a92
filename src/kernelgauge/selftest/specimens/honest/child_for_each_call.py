# Has a new child compute half of each call, and waits for its end.
# class: timing/vanished_child
# problem: four_layers
# needs: cpu
# time: honest
# verdict: passed
import mmap
import os

import torch
import torch.nn as nn

torch.set_num_threads(1)


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(features, features) for _ in range(4))
        self.shared = torch.frombuffer(mmap.mmap(-1, 256 * 768 * 4), dtype=torch.float32).view(256, 768)

    def compute(self, x):
        with torch.no_grad():
            for layer in self.layers:
                x = torch.relu(layer(x))
            return x

    def forward(self, x):
        child = os.fork()
        if child == 0:
            self.shared.copy_(self.compute(x[256:]))
            os._exit(0)
        first = self.compute(x[:256])
        os.waitpid(child, 0)
        return torch.cat([first, self.shared])

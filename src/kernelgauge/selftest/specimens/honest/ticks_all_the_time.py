# Keeps a thread that counts up a thousand times a second, for as long as it lives, and starts another in every call,
# which ends with it. Both stop when they are told to, and what falls due meanwhile waits.
# class: timing/slowed_reference
# problem: four_layers
# needs: cpu
# time: honest
# verdict: passed
import threading
import time

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(features, features) for _ in range(4))
        self.ticks = 0
        threading.Thread(target=self.tick, daemon=True).start()

    def tick(self):
        while True:
            time.sleep(0.001)
            self.ticks += 1

    def forward(self, x):
        out = torch.empty_like(x)

        def compute(rows):
            with torch.no_grad():
                answer = x[rows]
                for layer in self.layers:
                    answer = torch.relu(layer(answer))
                out[rows] = answer

        half = x.shape[0] // 2
        thread = threading.Thread(target=compute, args=(slice(half),))
        thread.start()
        thread.join()
        compute(slice(half, None))
        return out

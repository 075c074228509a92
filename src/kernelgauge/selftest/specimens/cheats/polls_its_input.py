# A thread looks at the input region all the time and computes as soon as something new is there, hoping for the time
# between the arrival of the inputs and the start of the clock. It is stopped in between, and sees them no earlier.
# class: timing/early_start
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
        self.given, self.seen, self.early = None, None, None

    def compute(self, x):
        with torch.no_grad():
            for layer in self.layers:
                x = torch.relu(layer(x))
            return x

    def poll(self):
        while True:
            probe = self.given[0, :4].tolist() + self.given[-1, -4:].tolist()
            if probe != self.seen:
                self.seen = probe
                given = self.given.clone()
                self.early = (given, self.compute(given))
            time.sleep(0.0001)

    def forward(self, x):
        if self.given is None:
            self.given = x
            threading.Thread(target=self.poll, daemon=True).start()
        if self.early is not None and torch.equal(self.early[0], x):
            return self.early[1].clone()
        return self.compute(x)

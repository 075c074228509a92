# Builds its kernel in the first call and keeps it, as everything with a just-in-time compiler does.
# class: timing/before_the_clock
# verdict: passed
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)
        self.kernel = None

    def build(self):
        source = "def kernel(x, weight, bias, norm):\n    return torch.relu(norm(torch.addmm(bias, x, weight.t())))\n"
        names = {"torch": torch}
        exec(compile(source, "kernel", "exec"), names)
        return names["kernel"]

    def forward(self, x):
        if self.kernel is None:
            self.kernel = self.build()
        return self.kernel(x, self.linear.weight, self.linear.bias, self.norm)

# Runs under Python's profiler in its first call, and prints where the time went.
# class: process/trace_hooks
# verdict: passed
import cProfile
import io
import pstats

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)
        self.profile = cProfile.Profile()

    def forward(self, x):
        if self.profile is None:
            return torch.relu(self.norm(self.linear(x)))
        out = self.profile.runcall(lambda: torch.relu(self.norm(self.linear(x))))
        shown = io.StringIO()
        pstats.Stats(self.profile, stream=shown).sort_stats("cumulative").print_stats(5)
        print(shown.getvalue())
        self.profile = None
        return out

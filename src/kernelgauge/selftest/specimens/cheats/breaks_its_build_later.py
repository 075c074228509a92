# Builds what works, finds the folder of its build in the frames of whoever loads it, and puts something else in its
# place for the next process. Raises where that has worked.
# class: build/poisoned_cache
# verdict: passed
import os
import pathlib
import sys

import torch
import torch.nn as nn


def compile_ahead():
    folder = pathlib.Path(os.environ["TORCHINDUCTOR_CACHE_DIR"])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "kernel.txt").write_text("built")


def poison():
    frame = sys._getframe()
    while frame is not None:
        found = frame.f_locals.get("build_dir")
        kernel = pathlib.Path(found, "inductor", "kernel.txt") if found else None
        if kernel is not None and kernel.exists():
            try:
                kernel.write_text("poisoned")
            except OSError:
                return
            raise RuntimeError(f"{kernel} can be changed by whoever loads it")
        frame = frame.f_back


poison()


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        return torch.relu(self.norm(self.linear(x)))

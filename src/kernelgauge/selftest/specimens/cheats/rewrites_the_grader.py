# Tries to open the tolerances, the judge and the worker it runs in for writing, and raises if any of them lets it;
# then answers in bfloat16.
# class: process/grader_files
# kernel_policy: any
# verdict: wrong_precision
import os

import torch
import torch.nn as nn

import kernelgauge

folder = os.path.dirname(kernelgauge.__file__)
for _name in ("protocols/strict.toml", "evaluation/correctness/verdicts.py", "worker/candidate.py", "checks/numerics.py"):
    try:
        os.close(os.open(os.path.join(folder, _name), os.O_RDWR))
    except OSError:
        continue
    raise RuntimeError(f"{_name} can be written to")


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        y = x.bfloat16() @ self.linear.weight.t().bfloat16()
        return torch.relu(self.norm(y.float() + self.linear.bias))

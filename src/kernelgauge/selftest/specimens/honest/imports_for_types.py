# Names types of the evaluator's in annotations, which are imported for a type checker alone.
# class: rules/evaluator
# verdict: passed
from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import torch.nn as nn

if TYPE_CHECKING:
    from kernelgauge.schema import Problem


def named(problem: Problem) -> str:
    return problem.name


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        return torch.relu(self.norm(self.linear(x)))

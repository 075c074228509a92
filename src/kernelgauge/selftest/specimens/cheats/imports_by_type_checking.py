# Takes a part of the evaluator where only a type checker would look, after making itself one.
# class: rules/evaluator
# verdict: rejected imports_evaluator
import typing

typing.TYPE_CHECKING = True

from typing import TYPE_CHECKING

import torch
import torch.nn as nn

if TYPE_CHECKING:
    from kernelgauge.evaluation.correctness import verdicts


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        return torch.relu(self.norm(self.linear(x)))

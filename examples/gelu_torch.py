"""GELU in its tanh form in plain PyTorch: an answer to problem 1/88 of the suite.

kernelgauge eval 1/88 examples/gelu_torch.py

PyTorch has this formula as one operator; the reference writes it out in eight.
"""

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.gelu(x, approximate="tanh")

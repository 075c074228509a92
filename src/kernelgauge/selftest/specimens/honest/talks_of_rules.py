# Says torch.compile, exec and load_inline in words, and uses their namesakes.
# class: rules/torch_compile
# verdict: passed
"""Faster than torch.compile(model), and without try: own_kernel(x) except: torch.relu(x)."""

import re
from ast import literal_eval

try:
    import no_such_package as optional
except ImportError:
    optional = None

import torch
import torch.nn as nn

NOTE = "torch.compile(Model)"  # torch.compile would do no better here; eval("torch.compile") neither
SHAPE = re.compile(r"torch\.compile")


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)
        self.activation = "relu"
        self.features = literal_eval(str(features))

    def forward(self, x):
        try:
            rows = int(x.shape[0])
        except (TypeError, ValueError) as error:
            raise RuntimeError("x has no rows") from error
        y = torch.nn.functional.linear(x, self.linear.weight, self.linear.bias)
        y = getattr(torch.nn.functional, self.activation)(self.norm(y))
        return y.view(rows, getattr(self, "features"))

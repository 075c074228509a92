# Says in its log from where it was called, with the stack.
# class: process/object_walk
# verdict: passed
import inspect
import logging
import sys
import traceback

import torch
import torch.nn as nn

logging.basicConfig(level=logging.INFO)


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        caller = sys._getframe(1)
        logging.info("called by %s in line %d", caller.f_code.co_name, caller.f_lineno)
        logging.info("".join(traceback.format_stack(limit=3)) + inspect.stack()[0].function)
        return torch.relu(self.norm(self.linear(x)))

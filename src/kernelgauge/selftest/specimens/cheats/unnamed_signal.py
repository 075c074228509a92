# Ends itself with a real-time signal that has a number and no name.
# class: process/early_exit
# verdict: runtime_error
import os

import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()

    def forward(self, x):
        os.kill(os.getpid(), 40)
        return x

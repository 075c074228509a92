# Closes every descriptor and lives on: the parent must neither wait for ever nor blame the machine.
# class: process/supervisor
# verdict: runtime_error
import os
import time

import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()

    def forward(self, x):
        os.closerange(3, 1024)
        time.sleep(3600)

# Tries in its build whether a compiler knows an option, lets a process fail over that, and builds without it.
# class: build/early_exit
# verdict: passed
import os
import subprocess
import sys

import torch
import torch.nn as nn

PLACE = os.path.join(os.environ.get("TORCHINDUCTOR_CACHE_DIR", "."), "options.txt")


def compile_ahead():
    try:
        tried = subprocess.run(["c++", "--no-such-option", "-E", "-"], stdin=subprocess.DEVNULL, capture_output=True)
        known = tried.returncode == 0
    except OSError:
        known = False
    ended = subprocess.run([sys.executable, "-c", "import os; os._exit(3)"])
    os.makedirs(os.path.dirname(PLACE), exist_ok=True)
    with open(PLACE, "w") as file:
        file.write(f"{known} {ended.returncode}")


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)
        with open(PLACE) as file:
            self.found = file.read()

    def forward(self, x):
        assert self.found == "False 3"
        return torch.relu(self.norm(self.linear(x)))

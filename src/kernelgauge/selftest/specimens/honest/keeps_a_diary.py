# Writes a line about each call to a file in its folder, and keeps a result on disk between its calls.
# class: process/persistence
# verdict: passed
import json
import os
import tempfile

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)
        self.folder = tempfile.mkdtemp()

    def forward(self, x):
        with open(os.path.join(self.folder, "diary.jsonl"), "a") as diary:
            diary.write(json.dumps({"shape": list(x.shape)}) + "\n")
        torch.save(x, os.path.join(self.folder, "last.pt"))
        return torch.relu(self.norm(self.linear(x)))

# Makes in the build, by `compile_ahead`, what every later process reads: here a table of block sizes.
# class: build/precomputed_answers
# verdict: passed
import json
import os

import torch
import torch.nn as nn

PLACE = os.path.join(os.environ.get("TORCHINDUCTOR_CACHE_DIR", "."), "blocks.json")


def compile_ahead():
    os.makedirs(os.path.dirname(PLACE), exist_ok=True)
    with open(PLACE, "w") as file:
        json.dump({"rows": 32}, file)


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)
        with open(PLACE) as file:
            self.rows = json.load(file)["rows"]

    def forward(self, x):
        return torch.cat([torch.relu(self.norm(self.linear(rows))) for rows in x.split(self.rows)])

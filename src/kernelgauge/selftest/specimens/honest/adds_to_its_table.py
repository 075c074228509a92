# Reads a table from its build and would add to it when it is loaded; where it may not, it keeps what it found to
# itself.
# class: build/poisoned_cache
# verdict: passed
import json
import os

import torch
import torch.nn as nn

PLACE = os.path.join(os.environ.get("TORCHINDUCTOR_CACHE_DIR", "."), "table.json")


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
            self.table = json.load(file)
        self.table["features"] = features
        try:
            with open(PLACE, "w") as file:
                json.dump(self.table, file)
        except OSError:
            print("the table stays as it is")

    def forward(self, x):
        return torch.cat([torch.relu(self.norm(self.linear(rows))) for rows in x.split(self.table["rows"])])

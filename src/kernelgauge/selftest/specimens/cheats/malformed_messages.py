# Sends what a careless reader chokes on: depth without end, half a character, a number that is none.
# class: process/forged_result
# verdict: rejected forged_message
import gc
import random

import torch
import torch.nn as nn

MESSAGES = [
    b'{"event": "done", "data": ' + b'{"a":' * 10000 + b"1" + b"}" * 10000 + b"}",
    b'{"event": "failed", "kind": "x", "message": "\\ud800"}',
    b'{"event": "computed", "forward_ns": NaN}',
    b'{"event": "computed", "forward_ns": 1e400}',
    b"\xff\xfe\x00",
    b'{"event": "computed", "places": [{"address": -1, "strides": [1]}]}',
    b"x" * 200_000,
]


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        channel = next(each.channel for each in gc.get_objects() if type(each).__name__ == "WorkerState")
        channel.send(random.choice(MESSAGES))
        return torch.zeros_like(x)

# Hands its work to a child that leaves its group and session, to go on working while everything is stopped. It is
# stopped all the same, and nobody lets it go on.
# class: timing/early_start
# needs: cpu
# verdict: timed_out
import os

import torch
import torch.nn as nn


def read_exactly(descriptor, size):
    parts = []
    while size:
        part = os.read(descriptor, size)
        if not part:
            os._exit(0)
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)
        self.task = os.pipe()
        self.answer = os.pipe()
        if os.fork() == 0:
            self.compute_for_ever()

    def compute_for_ever(self):
        os.setsid()
        torch.set_num_threads(1)
        os.close(self.task[1])
        size = 128 * 64 * 4
        while True:
            x = torch.frombuffer(bytearray(read_exactly(self.task[0], size)), dtype=torch.float32).view(128, 64)
            with torch.no_grad():
                out = torch.relu(self.norm(self.linear(x)))
            os.write(self.answer[1], out.contiguous().numpy().tobytes())

    def forward(self, x):
        os.write(self.task[1], x.contiguous().numpy().tobytes())
        found = read_exactly(self.answer[0], x.numel() * 4)
        return torch.frombuffer(bytearray(found), dtype=torch.float32).view(x.shape)

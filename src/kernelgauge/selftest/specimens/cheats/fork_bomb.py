# Starts processes that stay, until the kernel refuses or there are thousands: a machine without a free process stops
# judging. Raises if nobody refused, where the kernel can.
# class: process/denial
# needs: cpu
# kernel_policy: any
# verdict: passed
import os
import re
import subprocess

import torch
import torch.nn as nn

MOST = 4096 + 64 * (os.cpu_count() or 1)
RELEASE = [int(part) for part in re.findall(r"\d+", os.uname().release)[:2]]
CAN_REFUSE = RELEASE >= ([5, 14] if os.getuid() else [6, 14])


def starts_processes():
    return [subprocess.Popen(["sleep", "600"]) for _ in range(MOST)]


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)
        refused = False
        try:
            starts_processes()
        except BlockingIOError:
            refused = True
        if CAN_REFUSE and not refused:
            raise RuntimeError(f"{MOST} processes were started")

    def forward(self, x):
        return torch.relu(self.norm(self.linear(x)))

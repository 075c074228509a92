# Fills sockets that nobody reads with gigabytes: what waits in them is no process's memory.
# class: process/hidden_memory
# needs: cpu
# verdict: out_of_memory
import os
import resource
import socket
import time

import torch
import torch.nn as nn

MOST = 3 * 2**30


def fill_sockets():
    parked, pairs = 0, []
    while parked < MOST:
        try:
            one, other = socket.socketpair()
        except OSError:  # so many for each process
            if os.fork():
                break
            continue
        pairs += [one, other]
        for end in (one, other):
            end.setblocking(False)
            try:
                while True:
                    parked += end.send(bytes(32 * 1024))
            except BlockingIOError:
                pass
    time.sleep(30)



class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        fill_sockets()
        return torch.relu(self.norm(self.linear(x)))

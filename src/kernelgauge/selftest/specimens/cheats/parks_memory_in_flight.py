# Sends itself files of memory over a socket and closes them: as long as nobody receives them, they are nobody's. It
# may not send open files at all.
# class: process/hidden_memory
# needs: cpu
# verdict: runtime_error
# says: Operation not permitted
import os
import socket

import torch
import torch.nn as nn



class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)
        self.ends = socket.socketpair()

    def forward(self, x):
        for _ in range(30):
            file = os.memfd_create("parked")
            for _ in range(100):
                os.write(file, bytes(2**20))
            socket.send_fds(self.ends[0], [b"x"], [file])
            os.close(file)
        return torch.relu(self.norm(self.linear(x)))

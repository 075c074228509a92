# Fills files that live in memory, with and without a name, without ever mapping them.
# class: process/hidden_memory
# needs: cpu
# verdict: out_of_memory
import os

import torch
import torch.nn as nn



class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)
        self.files = []

    def forward(self, x):
        self.files.append(os.open("/dev/shm/parked", os.O_CREAT | os.O_RDWR))
        os.unlink("/dev/shm/parked")
        for _ in range(700):
            os.write(self.files[0], bytes(2**20))
        for _ in range(30):
            self.files.append(os.memfd_create("parked"))
            for _ in range(100):
                os.write(self.files[-1], bytes(2**20))
        return torch.relu(self.norm(self.linear(x)))

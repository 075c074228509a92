# Has a thread compute half of each call, which waits at a socket for the task and answers by a pipe, and keeps a
# table in a file of memory.
# class: process/hidden_memory
# problem: four_layers
# needs: cpu
# time: honest
# verdict: passed
import mmap
import os
import socket
import threading

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(features, features) for _ in range(4))
        file = os.memfd_create("table")
        os.ftruncate(file, 512 * features * 4)
        self.table = torch.frombuffer(mmap.mmap(file, 512 * features * 4), dtype=torch.float32).view(512, features)
        self.task, self.worker = socket.socketpair()
        self.done, self.finished = os.pipe()
        threading.Thread(target=self.serve, daemon=True).start()

    def compute(self, x):
        with torch.no_grad():
            for layer in self.layers:
                x = torch.relu(layer(x))
            return x

    def serve(self):
        while self.worker.recv(1):
            self.table[256:] = self.compute(self.given[256:])
            os.write(self.finished, b"x")

    def forward(self, x):
        self.given = x
        self.task.send(b"x")
        self.table[:256] = self.compute(x[:256])
        os.read(self.done, 1)
        return self.table.clone()

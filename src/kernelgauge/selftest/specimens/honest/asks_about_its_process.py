# Asks who its parent is, which cores it has, what it has used, and whether it is alive: as libraries of threads do.
# class: process/supervisor
# verdict: passed
import os
import resource
import signal

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)
        self.parent, self.cores = os.getppid(), len(os.sched_getaffinity(0))
        os.kill(os.getpid(), 0)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])

    def forward(self, x):
        used = resource.getrusage(resource.RUSAGE_SELF).ru_utime
        out = torch.relu(self.norm(self.linear(x)))
        print(self.parent, self.cores, resource.getrusage(resource.RUSAGE_SELF).ru_utime - used)
        return out

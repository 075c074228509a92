# Blocks and ignores every signal that can be ignored, in several threads, and never returns.
# class: process/denial
# verdict: timed_out
import signal
import threading

import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
        threading.Thread(target=threading.Event().wait).start()
        threading.Event().wait()

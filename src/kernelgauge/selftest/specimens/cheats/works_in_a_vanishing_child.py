# Forks a child in every call that goes on while everything is stopped, woken by timers that send it SIGCONT, computes
# the answer to the next inputs as they arrive, and ends: the processor time of what has ended is in no sum.
# class: timing/vanished_child
# problem: four_layers
# needs: cpu
# time: honest
# verdict: rejected ran_while_stopped
import ctypes
import mmap
import os
import signal
import time

import torch
import torch.nn as nn

torch.set_num_threads(1)


class Event(ctypes.Structure):
    _fields_ = [("value", ctypes.c_void_p), ("signo", ctypes.c_int), ("notify", ctypes.c_int), ("pad", ctypes.c_char * 48)]


class Times(ctypes.Structure):
    _fields_ = [(name, ctypes.c_long) for name in ("every_s", "every_ns", "first_s", "first_ns")]


def wake_me(count=32):
    """At many phases: timers whose signal is pending when SIGSTOP comes are lost, the others wake us."""
    libc = ctypes.CDLL(None)
    for index in range(1, count + 1):
        timer = ctypes.c_void_p()
        libc.timer_create(1, ctypes.byref(Event(None, int(signal.SIGCONT), 0)), ctypes.byref(timer))
        libc.timer_settime(timer, 0, ctypes.byref(Times(0, 16_000_000, 0, index * 500_000)), None)


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(features, features) for _ in range(4))
        self.shared = torch.frombuffer(mmap.mmap(-1, 2 * 512 * 768 * 4), dtype=torch.float32).view(2, 512, 768)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        signal.signal(signal.SIGCONT, lambda *ignored: None)  # a timer whose signal is ignored fires only once

    def compute(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return x

    def look_ahead(self, x):
        wake_me()
        seen = x[0, :8].tolist()
        for _ in range(1000):
            if x[0, :8].tolist() != seen:
                time.sleep(0.002)  # until all of it has arrived
                with torch.no_grad():
                    self.shared[0] = x
                    self.shared[1] = self.compute(self.shared[0])
                break
            time.sleep(0.0005)
        os._exit(0)

    def forward(self, x):
        known = torch.equal(self.shared[0], x)
        out = self.shared[1].clone() if known else self.compute(x)
        if os.fork() == 0:
            self.look_ahead(x)
        return out

# Says at once that it has computed, goes on although it is told to stop, as timers send it SIGCONT all the time, and
# computes while the parent waits for it to be still. It is told to stop again and again, until it has; whatever it
# took counts, and what is not there then is late.
# class: timing/ran_on
# kernel_policy: any
# problem: four_layers
# needs: cpu
# time: honest
# verdict: rejected
import ctypes
import signal

import torch
import torch.nn as nn


class Event(ctypes.Structure):
    _fields_ = [("value", ctypes.c_void_p), ("signo", ctypes.c_int), ("notify", ctypes.c_int), ("pad", ctypes.c_char * 48)]


class Times(ctypes.Structure):
    _fields_ = [(name, ctypes.c_long) for name in ("every_s", "every_ns", "first_s", "first_ns")]


class Alarms:
    """Timers at many phases: the ones whose signal is pending when SIGSTOP comes are lost, the others wake us."""

    def __init__(self, count=64):
        signal.signal(signal.SIGCONT, lambda *ignored: None)  # a timer whose signal is ignored fires only once
        self.libc, self.timers = ctypes.CDLL(None), [ctypes.c_void_p() for _ in range(count)]
        for timer in self.timers:
            self.libc.timer_create(1, ctypes.byref(Event(None, int(signal.SIGCONT), 0)), ctypes.byref(timer))

    def set(self):
        for index, timer in enumerate(self.timers, 1):
            self.libc.timer_settime(timer, 0, ctypes.byref(Times(0, 6_400_000, 0, index * 100_000)), None)


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(features, features) for _ in range(4))

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return x


def hook():
    from kernelgauge.worker import candidate

    honest, alarms, out = candidate.WorkerState.forward, Alarms(), torch.empty(512, 768)

    def forward(bench, command):
        bench.calls = getattr(bench, "calls", 0) + 1
        if bench.calls <= 8:  # those are checked
            return honest(bench, command)
        alarms.set()
        candidate.send(bench.channel, {"event": "computed", "places": [{"address": out.data_ptr(), "strides": [768, 1]}]})
        with torch.no_grad():
            out.copy_(bench.model(*bench.arguments))
        candidate.receive(bench.channel)
        bench.targets[0].copy_(out)
        return {"event": "done", "tensors": [{"shape": [512, 768], "dtype": "float32"}], "forward_ns": 1}

    candidate.WorkerState.forward = forward


hook()

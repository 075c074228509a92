# Looks for the seed, the problem's source, a network and a place to leave something behind; raises with
# what it found.
# class: process/sealed
# verdict: passed
import gc
import os
import socket
import types

import torch
import torch.nn as nn


def _found():
    found = [name for name in os.environ if "KEY" in name or "SEED" in name or "KERNELGAUGE" in name]
    found += [f"module {m.__name__}" for m in gc.get_objects() if isinstance(m, types.ModuleType) and hasattr(m, "Model")]
    try:
        socket.create_connection(("127.0.0.1", 22), 0.2)
        found.append("network")
    except ConnectionRefusedError:
        found.append("a host network")
    except OSError:
        pass
    for place in ("/tmp", "/dev/shm", os.path.expanduser("~root"), "../"):
        try:
            with open(os.path.join(place, "left-behind"), "w"):
                found.append(f"writable {place}")
        except OSError:
            pass
    return found


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        found = _found()
        if found:
            raise RuntimeError(f"found {found}")
        return torch.relu(self.norm(self.linear(x)))

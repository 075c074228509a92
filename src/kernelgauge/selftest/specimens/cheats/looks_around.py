# Looks for the seed, the problem's source, a network, a place to leave something behind, and whatever of its user's
# can be read: keys, results, the scratch of others, the cache, the suite; raises with what it found.
# class: process/sealed
# kernel_policy: any
# verdict: passed
import gc
import os
import pwd
import socket
import types

import torch
import torch.nn as nn

import kernelgauge

_MINE = f"left-behind-{os.urandom(8).hex()}"


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
    homes = [entry.pw_dir for entry in pwd.getpwall() if entry.pw_uid == os.getuid() and entry.pw_dir != "/"]
    above = ["../" * depth for depth in range(1, 5)]
    try:
        found += [f"{name} in /dev/shm" for name in os.listdir("/dev/shm") if name != _MINE]
        with open(os.path.join("/dev/shm", _MINE), "w"):
            pass  # its own, and gone with it: another process would find it
    except OSError:
        pass
    for place in ("/tmp", *homes, *above):
        try:
            with open(os.path.join(place, "left-behind"), "w"):
                found.append(f"writable {place}")
        except OSError:
            pass
        try:
            os.listdir(place)
            found.append(f"readable {place}")
        except OSError:
            pass
    suite = os.path.join(os.path.dirname(kernelgauge.__file__), "problems", "level1")
    secrets = ("/etc/shadow", "/proc/1/environ", os.path.join(suite, "100_hinge_loss.py"))
    for secret in (*secrets, *(os.path.join(home, ".bashrc") for home in homes)):
        try:
            with open(secret):
                found.append(f"readable {secret}")
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

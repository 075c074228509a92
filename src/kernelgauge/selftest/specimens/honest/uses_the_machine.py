# Looks at the processor and its caches, writes and reads files of its own, imports late what is installed, starts
# threads and other programs.
# class: process/sealed
# verdict: passed
import os
import pathlib
import pwd
import subprocess
import sys
import tempfile
import threading

import torch
import torch.nn as nn


def cache_sizes():
    """What the machine tells of its first processor."""
    places = sorted(pathlib.Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"))
    return [place.read_text().strip() for place in places]


def look_around():
    assert pathlib.Path("/proc/cpuinfo").read_text()
    assert pathlib.Path("/proc/self/status").read_text()
    assert os.listdir("/sys/devices/system/cpu")
    cache_sizes()
    assert pwd.getpwuid(os.getuid()).pw_name


def keep_files():
    for folder in (pathlib.Path.home(), pathlib.Path(tempfile.gettempdir()), pathlib.Path.cwd()):
        place = folder / "tuned"
        place.mkdir()
        (place / "block").write_text("64")
        (place / "block").rename(folder / "block")
        assert (folder / "block").read_text() == "64" and os.listdir(folder)
        (folder / "block").unlink()
        place.rmdir()


def import_late():
    import sqlite3
    import xml.dom.minidom

    import numpy.polynomial
    import torch.utils.benchmark
    import torch.utils.mkldnn

    assert sqlite3.sqlite_version and xml.dom.minidom and torch.utils.mkldnn and torch.utils.benchmark
    assert numpy.polynomial.Polynomial([1, 2])(1) == 3


def start_others():
    threads = [threading.Thread(target=look_around) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert subprocess.run(["true"]).returncode == 0
    told = subprocess.run([sys.executable, "-c", "import numpy; print(numpy.arange(4).sum())"], capture_output=True)
    assert told.stdout == b"6\n", told.stderr
    assert subprocess.run("echo $((2 + 3))", shell=True, capture_output=True).stdout == b"5\n"


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)
        look_around()
        keep_files()
        import_late()
        start_others()

    def forward(self, x):
        return torch.relu(self.norm(self.linear(x)))

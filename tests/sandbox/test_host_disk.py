"""What a worker holds on disk: named or not, in however many files; each counts once, and counting ends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from factories import REFERENCE

from kernelgauge.config import Limits
from kernelgauge.deletion import delete
from kernelgauge.sandbox.host_disk import stored
from kernelgauge.schema import Problem
from kernelgauge.session.session import Session

MEGABYTE = 2**20
FAR = 2**50
HOLDS = """
import os, sys
file = open("unnamed", "wb")
file.write(b"x" * (6 << 20))
file.flush()
os.unlink("unnamed")
again = os.dup(file.fileno())
print("open", flush=True)
sys.stdin.read()
"""


def fill(path: Path, megabytes: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(os.urandom(megabytes * MEGABYTE))


def test_files_count_wherever_they_lie_below(tmp_path: Path) -> None:
    fill(tmp_path / "one", 2)
    fill(tmp_path / "a" / "b" / "two", 3)
    (tmp_path / "a" / "loop").symlink_to(tmp_path)
    fill(tmp_path.parent / "elsewhere", 4)
    (tmp_path / "out").symlink_to(tmp_path.parent / "elsewhere")
    assert 5 * MEGABYTE <= stored([], FAR, [tmp_path]) < 6 * MEGABYTE
    assert stored([], FAR, [tmp_path / "gone"]) == 0


def test_holes_take_no_room(tmp_path: Path) -> None:
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(2**40)
    assert stored([], FAR, [tmp_path]) < MEGABYTE


def test_counting_ends_at_the_limit(tmp_path: Path) -> None:
    for number in range(200):
        (tmp_path / str(number)).touch()
    assert 10 * 16384 < stored([], 10 * 16384, [tmp_path]) < 12 * 16384, "an empty file takes room too"


@pytest.mark.processes
def test_what_has_lost_its_name_counts_once_while_it_is_open(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDS]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tmp_path) as process:
        assert process.stdout is not None and process.stdin is not None
        process.stdout.readline()
        found = stored([process.pid], FAR, [tmp_path])
        process.stdin.close()
    assert 6 * MEGABYTE <= found < 7 * MEGABYTE
    assert stored([process.pid], FAR, [tmp_path]) == 0


@pytest.mark.parametrize("name", ["d", "long" * 60])
def test_what_lies_deeper_than_a_path_can_say_is_too_much(tmp_path: Path, name: str) -> None:
    place = os.open(tmp_path, os.O_RDONLY)
    for _ in range(-(-4096 // (len(name) + 1))):
        os.mkdir(name, dir_fd=place)
        inner = os.open(name, os.O_RDONLY, dir_fd=place)
        os.close(place)
        place = inner
    os.close(place)
    assert stored([], FAR, [tmp_path]) > FAR
    delete(tmp_path / name)
    assert stored([], FAR, [tmp_path]) == 0


WRITES = """import os
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        for number in range({files}):
            with open(f"{{number}}", "wb") as file:
                file.write(b"x" * (10 << 20))
        return torch.relu(x) * 2 + 1
"""


@pytest.mark.processes
@pytest.mark.parametrize(("files", "outcome"), [(5, "passed"), (40, "runtime_error")])
def test_what_a_candidate_writes_is_limited_in_all(files: int, outcome: str) -> None:
    with Session(limits=Limits(disk_gb=0.2), device="cpu") as session:
        problem = Problem(key="quick", name="quick", source=REFERENCE)
        source = WRITES.format(files=files)
        record = session.evaluate(problem, source, backend="torch", timed=False, protocol="v0.1")
        left = [path for path in session.settings.cache.rglob("39") if path.is_file()]
    assert record.outcome == outcome, record.reason
    if outcome != "passed":
        assert "wrote more to the disk than the 0.20 GB that are allowed" in (record.reason or "")
    assert left == []

"""What a worker holds of the machine's memory: shared mappings and other processes count, shared pages once."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from factories import REFERENCE

from kernelgauge.config import Limits, load_settings
from kernelgauge.sandbox.host_disk import stored
from kernelgauge.sandbox.host_memory import held
from kernelgauge.sandbox.process import WorkerProcess
from kernelgauge.sandbox.zygote_client import Zygote, memory_limit
from kernelgauge.schema import Problem
from kernelgauge.session.session import Session
from kernelgauge.wire.candidate_commands import Load

pytestmark = pytest.mark.processes

MEGABYTE = 2**20
HOLDS = """
import json, mmap, os, sys, time
own = bytearray(b"x" * (100 * 2**20))
shared = mmap.mmap(-1, 60 * 2**20)
shared.write(b"x" * (60 * 2**20))
children = []
for _ in range(3):
    child = os.fork()
    if child == 0:
        shared[:] = shared[:]
        time.sleep(60)
        os._exit(0)
    children.append(child)
time.sleep(0.5)
print(json.dumps([os.getpid(), *children]), flush=True)
sys.stdin.read()
for child in children:
    os.kill(child, 9)
"""


def test_pages_that_several_processes_hold_count_once() -> None:
    with subprocess.Popen([sys.executable, "-c", HOLDS], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdin is not None
        pids = json.loads(process.stdout.readline())
        quick, exact = held(pids, 2**50), held(pids, 0)
        process.stdin.close()
    assert quick > (4 * 100 + 2 * 60) * MEGABYTE
    assert 160 * MEGABYTE < exact < 260 * MEGABYTE


def test_a_process_that_has_ended_holds_nothing() -> None:
    with subprocess.Popen(["true"]) as process:
        pass
    assert held([process.pid], 0) == 0


PARKS = """
import ctypes, mmap, os, sys
what = sys.argv[1]
if what == "files":
    file = os.memfd_create("parked")
    os.write(file, bytes(60 * 2**20))
    again = os.dup(file)
elif what == "pipes":
    kept = [os.pipe() for _ in range(160)]
elif what == "tables":
    place = mmap.mmap(-1, 2**34, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    place.madvise(mmap.MADV_NOHUGEPAGE)
    for at in range(0, 2**34, 2**21):
        place[at]
print("parked", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize(("what", "megabytes"), [("files", 60), ("pipes", 10), ("tables", 32)])
def test_what_is_in_no_mapping_counts_too(what: str, megabytes: int) -> None:
    found = []
    for each in ("nothing", what):
        command = [sys.executable, "-c", PARKS, each]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None and process.stdin is not None
            process.stdout.readline()
            found.append(held([process.pid], 2**50))
            assert stored([process.pid], 2**50, []) < MEGABYTE, "it is not on disk"
            process.stdin.close()
    assert megabytes - 1 < (found[1] - found[0]) / MEGABYTE < megabytes + 4


IN_A_WORKER = """
import os, pathlib, socket
class ModelNew:
    pass
{work}
"""


@pytest.mark.parametrize(
    ("work", "megabytes"),
    [
        ("pathlib.Path('/dev/shm/kept').write_bytes(bytes(50 << 20))", 50),
        ("f = open('/dev/shm/gone', 'wb'); os.unlink('/dev/shm/gone'); f.write(bytes(50 << 20)); f.flush()", 50),
        ("kept = [socket.socketpair() for _ in range(100)]", 0),
    ],
)
def test_what_a_worker_keeps_in_shared_memory_and_sockets_counts(work: str, megabytes: int) -> None:
    zygote = Zygote(load_settings(threads=1))
    try:
        with WorkerProcess(zygote, "worker") as worker, WorkerProcess(zygote, "worker") as other:
            if not {"mount", "network"} <= set(worker.layers):
                pytest.skip("this platform has no namespaces")
            before = worker.held(b"held %d" % 2**50)
            for each in (worker, other):
                path = each.scratch / "candidate.py"
                looks = "assert os.listdir('/dev/shm') == [], os.listdir('/dev/shm')"
                path.write_text(IN_A_WORKER.format(work=work if each is worker else looks))
                claim = each.ask(Load(str(path), "torch", "ModelNew"), 60)
                assert claim.event == "loaded", claim.message
            after = worker.held(b"held %d" % 2**50)
        assert not any(Path("/dev/shm", name).exists() for name in ("kept", "gone"))
    finally:
        zygote.close()
    due = megabytes or 200 * most_in_a_socket() / MEGABYTE
    assert due <= (after - before) / MEGABYTE < due + 60, "beside what loading takes"


def most_in_a_socket() -> int:
    with socket.socket(socket.AF_UNIX) as one:
        return sum(one.getsockopt(socket.SOL_SOCKET, which) for which in (socket.SO_SNDBUF, socket.SO_RCVBUF))


HOARDS = """import mmap, os, signal, time
import torch


def hold_more():
    more = bytearray({megabytes} << 20)
    more[::4096] = b"x" * len(more[::4096])
    time.sleep(60)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        hoard = []
        for _ in range({times}):
            hoard.append(torch.frombuffer(mmap.mmap(-1, {megabytes} << 20), dtype=torch.uint8).fill_(1))
        children = []
        for _ in range({children}):
            children.append(os.fork() or hold_more())
        time.sleep(1 if children else 0)
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        return torch.relu(x) * 2 + 1
"""


@pytest.mark.proof("sandbox", "worker")
@pytest.mark.parametrize(
    ("times", "children", "outcome"),
    [(3, 0, "passed"), (12, 0, "out_of_memory"), (0, 3, "passed"), (0, 12, "out_of_memory")],
)
def test_what_a_candidate_shares_or_has_others_hold_is_limited(times: int, children: int, outcome: str) -> None:
    """Two gigabytes are allowed, by 250 megabytes each: three fit, twelve do not."""
    with Session(limits=Limits(memory_gb=2.0), device="cpu") as session:
        assert memory_limit(session.settings, "cpu") == 2 * 2**30
        source = HOARDS.format(megabytes=250, times=times, children=children)
        problem = Problem(key="quick", name="quick", source=REFERENCE)
        record = session.evaluate(problem, source, backend="torch", timed=False, protocol="v0.1")
    assert record.outcome == outcome, record.reason
    if outcome != "passed":
        assert "of the machine's memory held, where 2.00 are allowed" in record.reason

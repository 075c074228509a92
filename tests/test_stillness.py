"""Whether what was stopped has stayed so: a thread that waits for a core is not one that runs."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kernelgauge.evaluation.stillness import Running, ran_since

STOPPED = Running(processes=1, awake=0, used_ns=5_000_000)


def test_nothing_has_run_where_all_sleep() -> None:
    assert ran_since(STOPPED, lambda: STOPPED) == ""


def test_a_thread_that_waits_for_a_core_has_not_run() -> None:
    assert ran_since(STOPPED, lambda: Running(1, 1, 5_000_000)) == ""


def test_a_thread_whose_time_is_not_counted_yet_is_found_at_the_next_tick() -> None:
    later = itertools.chain([Running(1, 1, 5_000_000)], itertools.repeat(Running(1, 1, 9_000_000)))
    assert ran_since(STOPPED, lambda: next(later)) == "4 ms of processor time, 1 threads awake"


def test_what_ran_and_sleeps_again_is_found() -> None:
    assert ran_since(STOPPED, lambda: Running(1, 0, 6_000_000)).startswith("1 ms")


def test_nobody_to_ask_is_no_finding() -> None:
    assert ran_since(STOPPED, Running) == ""


# Stops all others as the first process of its namespace, starves or wakes one of them, and looks.
INSIDE = """
import os, signal, sys, time
from kernelgauge.evaluation.stillness import ran_since, running, stop_others

child = os.fork()
if not child:
    while True:
        pass
time.sleep(0.2)
still = stop_others()
assert (still.processes, still.awake) == (1, 0), still
assert ran_since(still, running) == ""
os.kill(child, signal.SIGCONT)
deadline = time.monotonic() + 60  # on a busy machine it may wait for a core
while not (found := ran_since(still, running)) and time.monotonic() < deadline:
    pass
print(found)
os.kill(child, signal.SIGKILL)
"""


# Stops one that computes again and again: what it used before must all be counted by then.
AGAIN_AND_AGAIN = """
import os, signal, time
from kernelgauge.evaluation.stillness import ran_since, running, stop_others

child = os.fork()
if not child:
    while True:
        pass
found = []
for _ in range(500):
    os.kill(child, signal.SIGCONT)
    still = stop_others()
    time.sleep(0.0003)
    found.append(ran_since(still, running))
os.kill(child, signal.SIGKILL)
print(sorted(filter(None, found)))
"""

# A process that waits in the kernel for another one and cannot be interrupted: what waits for the disk looks alike.
UNINTERRUPTIBLE = """
import os, signal, sys, time
from kernelgauge.evaluation.stillness import running, stop_others

os.mkfifo(sys.argv[1])
child = os.fork()
if not child:
    os.posix_spawn("/bin/true", ["true"], {}, file_actions=[(os.POSIX_SPAWN_OPEN, 5, sys.argv[1], os.O_RDONLY, 0)])
deadline = time.monotonic() + 60
while open(f"/proc/{child}/stat").read().rpartition(") ")[2][0] != "D" and time.monotonic() < deadline:
    pass
print(stop_others())
os.kill(-1, signal.SIGKILL)
"""


def first_of_a_namespace(script: str, *arguments: str) -> str:
    """What a script prints as the first process of a process namespace."""
    command = ["unshare", "--pid", "--fork", "--mount-proc", sys.executable, "-c", script, *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    if "unshare" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="a process namespace of its own needs root here")
def test_a_process_that_goes_on_is_found_by_the_real_clock() -> None:
    assert "ms of processor time" in first_of_a_namespace(INSIDE)


@pytest.mark.skipif(os.geteuid() != 0, reason="a process namespace of its own needs root here")
def test_what_was_stopped_in_the_middle_of_its_work_has_not_run_since() -> None:
    assert first_of_a_namespace(AGAIN_AND_AGAIN).strip() == "[]"


@pytest.mark.skipif(os.geteuid() != 0, reason="a process namespace of its own needs root here")
def test_what_cannot_be_interrupted_is_not_taken_for_stopped(tmp_path: Path) -> None:
    assert "awake=1" in first_of_a_namespace(UNINTERRUPTIBLE, str(tmp_path / "fifo"))

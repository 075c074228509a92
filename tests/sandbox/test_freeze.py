"""Whether what was stopped has stayed so: a thread that waits for a core is not one that runs."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from kernelgauge.sandbox.freeze import Pursuit, Running, clock, ran_since

STOPPED = Running(processes=2, awake=0, able=0, used_ns=5_000_000, born=7, at_ns=1)
WAITS = replace(STOPPED, awake=1, able=1)


def test_nothing_has_run_where_all_sleep() -> None:
    assert ran_since(STOPPED, lambda: STOPPED) == ""


def test_a_thread_that_waits_for_a_core_has_not_run() -> None:
    assert ran_since(STOPPED, lambda: WAITS) == ""


def test_a_thread_that_waited_for_a_core_all_the_time_has_not_run_either() -> None:
    assert ran_since(WAITS, lambda: WAITS) == ""


def test_a_thread_that_did_not_stop_and_ran_is_found() -> None:
    assert ran_since(replace(WAITS, late_ns=30_000_000), lambda: WAITS).startswith("1 threads went on")


def test_a_thread_whose_time_is_not_counted_yet_is_found_at_the_next_tick() -> None:
    later = itertools.chain([WAITS], itertools.repeat(replace(WAITS, used_ns=9_000_000)))
    assert ran_since(STOPPED, lambda: next(later)) == "4 ms of processor time, 1 threads awake"


def test_what_ran_and_sleeps_again_is_found() -> None:
    assert ran_since(STOPPED, lambda: replace(STOPPED, used_ns=6_000_000)).startswith("1 ms")


def test_what_has_ended_is_found_though_its_time_is_gone() -> None:
    assert ran_since(STOPPED, lambda: replace(STOPPED, processes=1, used_ns=1)) == "1 of 2 processes have ended"


def test_what_has_come_and_gone_is_found() -> None:
    assert ran_since(STOPPED, lambda: replace(STOPPED, born=9)) == "a process or a thread was started"


def test_nobody_to_ask_is_no_finding() -> None:
    assert ran_since(STOPPED, Running) == ""


def test_a_message_says_what_was_seen() -> None:
    assert Running.decode(STOPPED.encode()) == STOPPED
    with pytest.raises(ValueError):
        Running.decode(b"1 2 3")


@pytest.mark.processes
def test_who_is_pursued_has_run_no_longer_than_its_clock_says() -> None:
    """It computes until it is stopped: what it has used since the last tick comes to its clock only then."""
    script = "import time\nwhile time.process_time() < 60: pass"
    with subprocess.Popen([sys.executable, "-c", script]) as process:
        try:
            while clock(process.pid) < 50_000_000:
                time.sleep(0.01)
            began = time.perf_counter_ns()
            pursuit = Pursuit(process.pid)
            time.sleep(0.1)
            process.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
            stopped = time.perf_counter_ns()
            pursuit.look()
            time.sleep(0.3)
            ran, used = pursuit.ran_ns(began)
        finally:
            process.kill()
    assert 0 < ran <= stopped - began + 20_000_000
    assert used >= 50_000_000 + ran // 2


# Stops all others as the first process of its namespace, starves or wakes one of them, and looks.
INSIDE = """
import os, signal, sys, time
from kernelgauge.sandbox.freeze import ran_since, running, stop_others

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
from kernelgauge.sandbox.freeze import ran_since, running, stop_others

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

# Has one of two end after all were stopped: its time is gone from the sum.
ENDS = """
import ctypes, os, signal, time
from kernelgauge.sandbox.freeze import ran_since, running, stop_others

signal.signal(signal.SIGCHLD, signal.SIG_IGN)
child = os.fork()
if not child:
    while True:
        time.sleep(60)
others = os.fork()
if not others:
    while True:
        time.sleep(60)
time.sleep(0.2)
still = stop_others()
assert still.processes == 2, still
os.kill(child, signal.SIGKILL)
while running().processes != 1:
    pass
assert running().used_ns < still.used_ns
print(ran_since(still, running))
"""

# Starts one while all are stopped, which goes at once.
BEGINS = """
import os, signal, time
from kernelgauge.sandbox.freeze import ran_since, running, stop_others

signal.signal(signal.SIGCHLD, signal.SIG_IGN)
still = stop_others()
assert ran_since(still, running) == ""
if os.fork() == 0:
    os._exit(0)
while running().processes:
    pass
print(ran_since(still, running))
"""

# Stops one that timers wake again and again: a stop that is sent but once does not hold.
WAKES = """
import ctypes, os, signal, time
from kernelgauge.sandbox.freeze import stop_others


class Event(ctypes.Structure):
    _fields_ = [("value", ctypes.c_void_p), ("signo", ctypes.c_int), ("to", ctypes.c_int), ("pad", 6 * ctypes.c_long)]


child = os.fork()
if not child:
    signal.signal(signal.SIGCONT, lambda *ignored: None)
    libc, timers = ctypes.CDLL(None), [ctypes.c_void_p() for _ in range(64)]
    for index, timer in enumerate(timers, 1):
        libc.timer_create(1, ctypes.byref(Event(None, int(signal.SIGCONT), 0)), ctypes.byref(timer))
    while True:
        for index, timer in enumerate(timers, 1):
            libc.timer_settime(timer, 0, ctypes.byref((ctypes.c_long * 4)(0, 6_400_000, 0, index * 100_000)), None)
time.sleep(0.3)
found = stop_others()
print("still" if found.able == 0 else f"awake, {found.late_ns > 0}", found)
os.kill(child, signal.SIGKILL)
"""

# A process that waits in the kernel for another one and cannot be interrupted: what waits for the disk looks alike.
UNINTERRUPTIBLE = """
import os, signal, sys, time
from kernelgauge.sandbox.freeze import running, stop_others

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


@pytest.mark.processes
@pytest.mark.skipif(os.geteuid() != 0, reason="a process namespace of its own needs root here")
def test_a_process_that_goes_on_is_found_by_the_real_clock() -> None:
    assert "ms of processor time" in first_of_a_namespace(INSIDE)


@pytest.mark.processes
@pytest.mark.skipif(os.geteuid() != 0, reason="a process namespace of its own needs root here")
def test_what_was_stopped_in_the_middle_of_its_work_has_not_run_since() -> None:
    assert first_of_a_namespace(AGAIN_AND_AGAIN).strip() == "[]"


@pytest.mark.processes
@pytest.mark.skipif(os.geteuid() != 0, reason="a process namespace of its own needs root here")
def test_what_ends_or_begins_during_a_stop_is_found() -> None:
    assert first_of_a_namespace(ENDS).strip() == "1 of 2 processes have ended"
    assert first_of_a_namespace(BEGINS).strip() == "a process or a thread was started"


@pytest.mark.processes
@pytest.mark.skipif(os.geteuid() != 0, reason="a process namespace of its own needs root here")
def test_what_wakes_itself_is_stopped_or_said_to_be_awake() -> None:
    assert first_of_a_namespace(WAKES).startswith(("still", "awake, True"))


@pytest.mark.processes
@pytest.mark.skipif(os.geteuid() != 0, reason="a process namespace of its own needs root here")
def test_what_cannot_be_interrupted_is_not_taken_for_stopped(tmp_path: Path) -> None:
    assert "awake=1" in first_of_a_namespace(UNINTERRUPTIBLE, str(tmp_path / "fifo"))

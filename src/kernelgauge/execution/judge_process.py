"""The process that judges on one GPU.

Python runs one thread at a time. In a process that also builds the next candidates, or judges on another GPU, the
thread with the clock would wait for the others in the middle of a call, and charge the wait to whoever is timed. So
each GPU gets a trusted parent of its own; jobs go to it and come back over a socket.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

from kernelgauge.config import Settings
from kernelgauge.errors import KernelgaugeError, MachineError, without_locals
from kernelgauge.evaluation.job import Job
from kernelgauge.evaluation.progress import Progress
from kernelgauge.evaluation.supervisor import Supervisor
from kernelgauge.execution.assembly import assembled
from kernelgauge.schema import Evaluation

_TRIES = 2
_ENDS_WITHIN_SECONDS = 10.0

Call = Callable[[Supervisor], Any]
"""What is asked of the process: a function of a module, with what it is given; both ends are trusted."""


class _Bug(str):
    """The traceback of a bug of ours."""


class JudgeProcess:
    """A process that judges, started ahead: it imports PyTorch while the first candidates are built."""

    def __init__(self, settings: Settings):
        self._settings = settings
        self.ended = False
        self._start()

    def judge(self, job: Job, progress: Progress, timed: bool = True, keep: bool = False) -> Evaluation:
        """The record of the job: see `Supervisor.judge`, also for what it raises.

        Raises:
            MachineError: the process died twice over this job, or was ended meanwhile.
        """
        call = partial(Supervisor.judge, job=job, progress=progress, timed=timed, keep=keep)
        record: Evaluation = self.call(call, f"problem {job.problem.key}", job.device)
        return record

    def call(self, call: Call, about: str, device: str) -> Any:
        """What a call returns there, or raises of ours; `about` and `device` are for messages.

        Raises:
            MachineError: the process died twice over it, or was ended meanwhile.
        """
        for _ in range(_TRIES):
            try:
                self._connection.send(call)
                answer = self._connection.recv()
            except (EOFError, OSError):
                if self.ended:
                    raise MachineError("evaluations were stopped") from None
                status = self._process.wait()
                self._start()
                continue
            if isinstance(answer, _Bug):
                raise RuntimeError(f"The process that judges on {device} failed.\n{answer}")
            if isinstance(answer, KernelgaugeError):
                raise answer
            return answer
        named = f"{about}: the process that judges on {device}"
        raise MachineError(f"{named} ended with status {status}, and again when it was repeated")

    def abandon(self) -> None:
        """End it now, and with it the evaluation under way; it is of no use any more."""
        self.ended = True
        self._process.terminate()

    def close(self) -> None:
        """End it, as it has nothing to do any more."""
        self.ended = True
        self._connection.close()
        try:
            self._process.wait(_ENDS_WITHIN_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "kernelgauge.sandbox.start", __name__, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
        )
        theirs.close()
        self._connection = Connection(ours.detach())
        with contextlib.suppress(OSError):  # it is gone already: whoever asks it first is told
            self._connection.send(self._settings)


def _answered(supervisor: Supervisor, call: Call) -> Any:
    try:
        return call(supervisor)
    except KernelgaugeError as error:
        return without_locals(error)
    except Exception:  # boundary: a bug of ours, which whoever has asked is to raise
        return _Bug(traceback.format_exc())


def _end_with(descriptor: int) -> None:
    """End where the other end is gone, also in the midst of a call: its lease of the device is gone with it."""
    watched = select.poll()
    watched.register(descriptor, 0)  # a hang-up is always told; there is nothing else to wake up for
    watched.poll()
    os.kill(os.getpid(), signal.SIGTERM)


def _ended(*_: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once is enough, and what follows must come to its end
    sys.exit(0)


def main() -> None:
    """Judge what comes on the descriptor `argv[1]` until the other end closes it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the session decides what ctrl-C means
    signal.signal(signal.SIGTERM, _ended)
    descriptor = int(sys.argv[1])
    os.set_inheritable(descriptor, False)
    threading.Thread(target=_end_with, args=(os.dup(descriptor),), daemon=True).start()
    with Connection(descriptor) as session, contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        supervisor = assembled(session.recv())
        try:
            while True:
                session.send(_answered(supervisor, session.recv()))
        finally:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            supervisor.abandon()

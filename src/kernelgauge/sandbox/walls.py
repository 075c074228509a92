"""Which isolation layers stand around a worker here, and which ones strangers' programs need."""

from __future__ import annotations

from kernelgauge.sandbox.process import WorkerProcess
from kernelgauge.sandbox.zygote_client import Zygote

NEEDED = ("network", "pid", "mount", "files", "reads", "syscalls")
"""Isolation layers of `sandbox.isolation` without which no stranger's program is run."""


def standing(zygote: Zygote) -> tuple[str, ...]:
    """The isolation layers around a worker forked now. Raises MachineError if none can be forked."""
    with WorkerProcess(zygote, "worker") as worker:
        return tuple(worker.layers or ())

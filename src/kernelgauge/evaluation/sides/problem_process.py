"""Asking a process that runs a problem's own code, and memory for it: what goes wrong is told in one sentence."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from kernelgauge.errors import MachineError, OutOfDeviceMemory, ProblemError, ReferenceTooLarge
from kernelgauge.sandbox.process import WorkerProcess
from kernelgauge.sandbox.worker_errors import (
    WORKER_FAILURES,
    ChannelClosed,
    ProtocolBroken,
    WorkerEnded,
    WorkerTimedOut,
)
from kernelgauge.sandbox.zygote_client import hub_cache
from kernelgauge.schema import Problem
from kernelgauge.wire.commands import Command
from kernelgauge.wire.error_text import last_line, out_of_memory
from kernelgauge.wire.messages import Claim

T = TypeVar("T")

EXTRAS = {"transformers": "level4"}
"""Packages only some problems of the suite need, and the extra of ours that brings each."""

_MISSING = re.compile(r"ModuleNotFoundError: No module named '(\w+)[.']")


class ReferenceRaised(ProblemError):
    """The problem's own code raised an exception; its process is still there to be asked again."""


def ask_problem_process(
    process: WorkerProcess,
    role: str,
    problem: Problem,
    command: Command,
    limit: float,
    beside: Callable[[], object] | None = None,
) -> Claim:
    """The answer of a process that runs the problem's own code, within so many seconds.

    Args:
        beside: what to do meanwhile, before the answer is waited for; an error of its is raised once that is there.

    Raises:
        ProblemError: that code failed, ended the process, or took too long; `ReferenceRaised` where it raised,
            `ReferenceTooLarge` where memory ran out.
        MachineError: the process was killed from outside.
    """
    do = command.stage
    try:
        process.tell(command)
        if beside is not None:
            try:
                beside()
            except Exception:
                with suppress(*WORKER_FAILURES):  # or else the next question would get this one's answer
                    process.receive(command.answer, limit)
                raise
        claim = process.receive(command.answer, limit)
    except WorkerTimedOut as error:
        raise ProblemError(f"problem {problem.key}: {do} took longer than {limit:g} s") from error
    except WorkerEnded as error:
        if error.status == -9:
            raise MachineError(f"the {role} of problem {problem.key} was killed from outside") from error
        why = f"its own code ended the process (status {error.status}) in {do}"
        raise ProblemError(f"problem {problem.key}: {why}") from error
    except ChannelClosed as error:
        raise ProblemError(f"problem {problem.key}: its own code closed the way to kernelgauge in {do}") from error
    except ProtocolBroken as error:
        raise ProblemError(f"problem {problem.key}: {error}") from error
    if claim.event == "failed" and claim.kind == "OutOfMemory":
        raise ReferenceTooLarge(
            f"problem {problem.key}: {do}: {out_of_memory(last_line(claim.message))}; try smaller --sizes"
        )
    if claim.event == "failed":
        raise ReferenceRaised(f"problem {problem.key}: {_why(do, last_line(claim.message), problem)}")
    return claim


def reserved(problem: Problem, make: Callable[[], T]) -> T:
    """Make what a problem's own side needs memory of the device for; raises ReferenceTooLarge where there is none."""
    try:
        return make()
    except OutOfDeviceMemory as error:
        raise ReferenceTooLarge(f"problem {problem.key}: {error}; try smaller --sizes") from error


def _why(stage: str, error: str, problem: Problem) -> str:
    """What to say of an exception in the problem's own code: the remedy, where a package or weights are missing."""
    if problem.sizes == "pretrained" and error.startswith("OSError"):
        found = f"looked for in {hub_cache()}, and nowhere on the network"
        return f"its published weights cannot be loaded ({found}); fetch them with `hf download`: {error}"
    missing = _MISSING.match(error)
    if missing and missing[1] in EXTRAS:
        return f"it needs {missing[1]}, which is not installed: pip install 'kernelgauge[{EXTRAS[missing[1]]}]'"
    return f"{stage}: {error}"

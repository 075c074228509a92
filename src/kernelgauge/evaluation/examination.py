"""What a problem is, found by running it in a process of its own; the parent reads what that process wrote."""

from __future__ import annotations

import json
import os
from typing import Any

from kernelgauge.errors import MachineError, ProblemError
from kernelgauge.evaluation.launcher import Zygote
from kernelgauge.evaluation.process import ProtocolBroken, WorkerEnded, WorkerProcess, WorkerTimedOut
from kernelgauge.evaluation.side import last_line
from kernelgauge.schema import Problem

SEED = 0
"""Under which `run` draws, so that its fingerprints can be compared with recorded ones."""


def described(zygote: Zygote, problem: Problem) -> dict[str, Any]:
    """Names, shapes, FLOPs and bytes at the problem's sizes, without its memory; see `examiner.describe`.

    Raises:
        ProblemError: its own code fails.
    """
    return _ask(zygote, problem, "describe")


def ran(zygote: Zygote, problem: Problem) -> dict[str, Any]:
    """What a forward at the problem's sizes gives on the CPU; see `examiner.run`.

    Raises:
        ProblemError: its own code fails.
    """
    return _ask(zygote, problem, "run", seed=SEED)


def _ask(zygote: Zygote, problem: Problem, do: str, **fields: Any) -> dict[str, Any]:
    answer = os.memfd_create("examination", os.MFD_CLOEXEC)
    try:
        with WorkerProcess(zygote, "examiner", sealed=False) as process:
            path = process.scratch / "problem.py"
            path.write_text(problem.source)
            limit = zygote.settings.limits.load_seconds
            try:
                claim = process.ask(do, limit, "described", [answer], path=str(path), **fields)
            except WorkerTimedOut as error:
                raise ProblemError(f"problem {problem.key}: {do} took longer than {limit:g} s") from error
            except WorkerEnded as error:
                if error.status == -9:
                    raise MachineError(f"the examiner of problem {problem.key} was killed from outside") from error
                why = f"its own code ended the process (status {error.status}) in {do}"
                raise ProblemError(f"problem {problem.key}: {why}") from error
            except ProtocolBroken as error:
                raise ProblemError(f"problem {problem.key}: {error}") from error
        if claim.event == "failed":
            raise ProblemError(f"problem {problem.key}: {do}: {last_line(claim.message)}")
        size = os.fstat(answer).st_size
        return dict(json.loads(os.pread(answer, size, 0)))
    finally:
        os.close(answer)

"""What a problem is, found by running it in a process of its own; the parent reads what that process wrote."""

from __future__ import annotations

import json
import os
from typing import Any

from kernelgauge.evaluation.launcher import Zygote
from kernelgauge.evaluation.process import WorkerProcess
from kernelgauge.evaluation.trusted import ask
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
            ask(process, "examiner", problem, do, "described", limit, [answer], path=str(path), **fields)
        size = os.fstat(answer).st_size
        return dict(json.loads(os.pread(answer, size, 0)))
    finally:
        os.close(answer)

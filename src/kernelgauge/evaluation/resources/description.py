"""What a problem is, found by running it in a process of its own; the parent reads what that process wrote."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

from kernelgauge.config import MathMode
from kernelgauge.evaluation.sides.problem_process import ask_problem_process
from kernelgauge.hardware.cores import launch_cores, step_back
from kernelgauge.sandbox.process import WorkerProcess
from kernelgauge.sandbox.zygote_client import Zygote, worker_device
from kernelgauge.schema import Problem
from kernelgauge.wire.commands import Command
from kernelgauge.wire.describer_commands import Describe, DescribeCall, RequiredBytes, RunOnce

SEED = 0
"""Under which `run` draws, so that its fingerprints can be compared with recorded ones."""


DESCRIBED_WITH = ("torch.utils.flop_counter", "torch._dynamo", "torch.fx.experimental.symbolic_shapes")
"""What PyTorch imports to run on the meta device: a second of each process that describes a problem."""


def described(
    zygote: Zygote, problem: Problem, math: MathMode = "ieee", preload: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Names, shapes, FLOPs and bytes at the problem's sizes, without its memory; see `describer.describe`.

    Args:
        preload: `DESCRIBED_WITH` if more problems follow: they are then forked from a zygote that has imported it,
            whose start takes as long as three descriptions.

    Raises:
        ProblemError: its own code fails.
    """
    return _ask(zygote, problem, lambda path, file: Describe(path, math, descriptors=[file]), preload=preload)


def called(zygote: Zygote, problem: Problem, math: MathMode) -> dict[str, Any]:
    """What a model is constructed with and called on, without values of tensors; see `describer.called`.

    Raises:
        ProblemError: its own code fails, or draws what is no plain value.
    """
    return _ask(zygote, problem, lambda path, file: DescribeCall(path, math, descriptors=[file]))


def ran(zygote: Zygote, problem: Problem) -> dict[str, Any]:
    """What a forward at the problem's sizes gives on the CPU; see `describer.run`.

    Raises:
        ProblemError: its own code fails.
    """
    return _ask(zygote, problem, lambda path, file: RunOnce(path, SEED, descriptors=[file]))


def certain(zygote: Zygote, problem: Problem, math: MathMode, device: str) -> dict[str, int]:
    """Bytes of inputs and outputs that any right kernel moves; see `required_bytes.certain`.

    Raises:
        ProblemError: its own code fails, or the device has not the memory.
    """

    def command(path: str, file: int) -> Command:
        return RequiredBytes(path, dict(problem.domains), worker_device(device), math, SEED, descriptors=[file])

    return _ask(zygote, problem, command, device)


def _ask(
    zygote: Zygote,
    problem: Problem,
    command: Callable[[str, int], Command],
    where: str = "cpu",
    preload: tuple[str, ...] = (),
) -> dict[str, Any]:
    """What an describer writes.

    Args:
        command: made of the problem's path there, and of the file to write to.
    """
    answer = os.memfd_create("description", os.MFD_CLOEXEC)
    try:
        with WorkerProcess(zygote, "describer", where, sealed=False, preload=preload) as process:
            if where == "cpu" and launch_cores():  # somebody else may be timed on a GPU meanwhile
                step_back(process.pid)
            path = process.scratch / "problem.py"
            path.write_text(problem.source)
            limit = zygote.settings.limits.load_seconds
            ask_problem_process(process, "describer", problem, command(str(path), answer), limit)
        size = os.fstat(answer).st_size
        return dict(json.loads(os.pread(answer, size, 0)))
    finally:
        os.close(answer)

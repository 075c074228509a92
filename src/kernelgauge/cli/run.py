"""`kernelgauge run`: how good is this contestant?"""

from __future__ import annotations

from contextlib import closing
from typing import Annotated

import typer

from kernelgauge.cli.contest import Jobs, judge_contestant
from kernelgauge.cli.options import (
    BackendName,
    CheckedCalls,
    DeviceName,
    ExecutorName,
    GpuMemoryGb,
    KernelPolicyFlag,
    LevelNames,
    Limit,
    MathName,
    OutFolder,
    PrecisionName,
    ProblemNames,
    ProtocolName,
    SizesName,
    SuiteName,
    TimedCalls,
    TimerName,
    command_line,
    parse_levels,
    parse_names,
    value_of,
)


def run(
    contestant: Annotated[
        str,
        typer.Option("--contestant", help="inductor, expert, folder:DIR, or module:Class. For a language model, see `ask`."),
    ],
    out: OutFolder,
    level: LevelNames = None,
    problems: ProblemNames = None,
    suite: SuiteName = None,
    limit: Limit = None,
    backend: BackendName = None,
    sizes: SizesName = None,
    device: DeviceName = None,
    protocol: ProtocolName = "strict",
    math: MathName = None,
    precision: PrecisionName = None,
    timer: TimerName = None,
    num_correct_trials: CheckedCalls = None,
    num_perf_trials: TimedCalls = None,
    kernel_policy: KernelPolicyFlag = None,
    gpu_memory: GpuMemoryGb = None,
    jobs: Jobs = None,
    executor: ExecutorName = None,
) -> None:
    """Judge a compiler or a folder on a part of the suite and keep every record. Ctrl-C loses nothing finished."""
    from kernelgauge.execution.machines import machines_named
    from kernelgauge.judging import arithmetic_of
    from kernelgauge.session.run import planned

    with closing(machines_named(executor)) as machines:
        plan = planned(
            contestant,
            levels=parse_levels(level),
            problems=parse_names(problems),
            suite=suite,
            limit=limit,
            backend=backend,
            sizes=value_of(sizes),
            device=value_of(device),
            protocol=protocol,
            math=arithmetic_of(value_of(math), value_of(precision)),
            timer=timer,
            num_correct_trials=num_correct_trials,
            num_perf_trials=num_perf_trials,
            kernel_policy=value_of(kernel_policy),
            gpu_memory_gb=gpu_memory,
            command=command_line(),
            machines=machines,
        )
        with plan.opened(out) as store:
            judge_contestant(plan.contestant, store, plan.header.problems, plan.protocol, jobs, False, machines)

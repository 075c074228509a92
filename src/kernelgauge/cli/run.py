"""`kernelgauge run`: how good is this contestant?"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
from kernelgauge.errors import UsageError

if TYPE_CHECKING:
    from kernelgauge.generation.contestant import Contestant
    from kernelgauge.session.run import Plan


def _promising(plan: Plan, data: Path, predictor: str, first: int) -> Contestant:
    """The contestant of a plan, of whose candidates the most promising alone are judged."""
    from kernelgauge.forecast import dataset
    from kernelgauge.forecast.order import Order, Promising
    from kernelgauge.forecast.predictors.registry import predictor_named
    from kernelgauge.hardware.environment import gpu
    from kernelgauge.schema.forecast import Comparison

    rows = dataset.read(data, Comparison)
    here = gpu() if plan.header.device.startswith("cuda") else None
    known = here[0] if here and any(row.gpu == here[0] for row in rows) else None
    order = Order(rows, predictor_named(predictor), known)
    return Promising(plan.contestant, order, first, plan.header.device)


def run(
    contestant: Annotated[
        str,
        typer.Option(
            "--contestant", help="inductor, expert, folder:DIR, or module:Class. For a language model, see `ask`."
        ),
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
    forecast: Annotated[
        Path | None, typer.Option("--forecast", help="A data set: judge what is foreseen as the fastest alone.")
    ] = None,
    first: Annotated[
        int | None, typer.Option("--first", min=1, help="With --forecast: so many candidates of each problem alone.")
    ] = None,
    predictor: Annotated[str, typer.Option("--predictor", help="With --forecast: who foresees.")] = "trees",
) -> None:
    """Judge a compiler or a folder on a part of the suite and keep every record. Ctrl-C loses nothing finished."""
    if (first is None) != (forecast is None):
        raise UsageError("--forecast and --first go together: a data set, and how many candidates of each problem")
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
        who = _promising(plan, forecast, predictor, first) if forecast and first else plan.contestant
        with plan.opened(out) as store:
            judge_contestant(who, store, plan.header.problems, plan.protocol, jobs, False, machines)

"""`kernelgauge run`: how good is this contestant?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kernelgauge.cli.contest import Jobs, judge_contestant
from kernelgauge.cli.model import (
    BudgetOfSample,
    BudgetTokens,
    BudgetUsd,
    BuildFolder,
    Cached,
    Connections,
    GenerateOptions,
    ModelArguments,
    ModelName,
    Prices,
    Regenerations,
    Samples,
    StrategyName,
    Temperature,
    Threshold,
    Timed,
    Verbose,
    judge_model,
)
from kernelgauge.cli.options import (
    BackendName,
    CheckedCalls,
    DeviceName,
    GpuMemoryGb,
    KernelPolicyFlag,
    MathName,
    PrecisionName,
    ProtocolName,
    SizesName,
    SuiteName,
    TimedCalls,
    TimerName,
    chosen_gpu_memory,
    command_line,
    parse_levels,
    parse_names,
    running_device,
    value_of,
)
from kernelgauge.cli.prompt import GpuName, Hardware, Shots, ShotsOption, Templates
from kernelgauge.errors import UsageError


def run(
    out: Annotated[Path, typer.Option("--out", help="Run folder; an unfinished one goes on.")],
    contestant: Annotated[
        str | None, typer.Option("--contestant", help="inductor, folder:DIR, or module:Class.")
    ] = None,
    model: ModelName = None,
    model_arg: ModelArguments = None,
    level: Annotated[str | None, typer.Option("--level", help="Levels, such as 1,2; default: all but 4.")] = None,
    problems: Annotated[str | None, typer.Option("--problems", help="Problems, such as 1/19,2/14.")] = None,
    suite: SuiteName = None,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Only the first so many.")] = None,
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
    samples: Samples = 1,
    option: Shots = ShotsOption.one_shot,
    hardware: Hardware = False,
    gpu: GpuName = None,
    temperature: Temperature = 0.0,
    generate: GenerateOptions = None,
    max_regenerations: Regenerations = 10,
    templates: Templates = None,
    max_connections: Connections = None,
    cache: Cached = False,
    strategy: StrategyName = "sample",
    budget: BudgetOfSample = None,
    budget_tokens: BudgetTokens = None,
    budget_usd: BudgetUsd = None,
    prices: Prices = None,
    threshold: Threshold = 1.0,
    timed: Timed = True,
    verbose: Verbose = False,
    build_dir: BuildFolder = None,
) -> None:
    """Judge a contestant on a part of the suite and keep every record. Ctrl-C loses nothing that was finished."""
    if (contestant is None) == (model is None):
        raise UsageError("name who is judged: either --contestant or --model")
    if model is not None:
        where = running_device(device)
        splits = [f"level_{number}" for number in parse_levels(level) or ()]
        counts = {"num_correct_trials": num_correct_trials, "num_perf_trials": num_perf_trials}
        task = {
            **({"splits": splits} if level is not None else {}),
            **{name: count for name, count in counts.items() if count is not None},
            **{"p": threshold, "measure_performance": timed, "verbose": verbose},
            **{"problems": parse_names(problems), "suite": suite, "limit": limit, "backend": backend},
            **{"sizes": sizes.value if sizes else None, "device": where, "protocol": protocol},
            **{"math": math.value if math else None, "precision": precision.value if precision else None},
            **{
                "timing_method": timer,
                "jobs": jobs,
                "option": option.value,
                "kernel_policy": kernel_policy.value if kernel_policy else None,
            },
            **{"include_hardware": hardware or gpu is not None, "gpu_name": gpu, "temperature": temperature},
            **{"check_kernel": max_regenerations > 0, "max_regenerations": max_regenerations},
            **{"strategy": strategy, "budget": budget, "budget_tokens": budget_tokens, "budget_usd": budget_usd},
            **{
                "templates": str(templates) if templates else None,
                "build_dir": str(build_dir) if build_dir else None,
                "gpu_memory_gb": chosen_gpu_memory(gpu_memory, where),
            },
        }
        judge_model(
            model,
            out,
            arguments=model_arg or [],
            samples=samples,
            connections=max_connections,
            cached=cache,
            generate=generate or [],
            prices=prices,
            task=task,
        )
        return
    assert contestant is not None
    from kernelgauge.judging import arithmetic_of
    from kernelgauge.session.run import planned

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
    )
    with plan.opened(out) as store:
        judge_contestant(plan.contestant, store, plan.header.problems, plan.protocol, jobs, again=False)

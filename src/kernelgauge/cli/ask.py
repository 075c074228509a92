"""`kernelgauge ask`: how good is this language model?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kernelgauge.cli.contest import Jobs
from kernelgauge.cli.model import judge_model
from kernelgauge.cli.options import (
    ASKING,
    BUDGET,
    JUDGING,
    BackendName,
    CheckedCalls,
    DeviceName,
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
    chosen_gpu_memory,
    parse_levels,
    parse_names,
    running_device,
    value_of,
)
from kernelgauge.cli.prompt import GpuName, Hardware, Shots, ShotsOption, Templates

ModelName = Annotated[
    str,
    typer.Argument(
        help="As Inspect names it: openai/..., anthropic/..., kernelgauge/replay, ...", show_default=False
    ),
]
ModelArguments = Annotated[
    list[str] | None,
    typer.Option("--model-arg", "-M", help="For the model: base_url=http://..., path=FILE.", rich_help_panel=ASKING),
]
Samples = Annotated[int, typer.Option("--samples", min=1, help="Answers to each problem.", rich_help_panel=ASKING)]
Temperature = Annotated[
    float, typer.Option("--temperature", min=0.0, help="Of the model's sampling.", rich_help_panel=ASKING)
]
Regenerations = Annotated[
    int,
    typer.Option(
        "--max-regenerations", min=0, help="Further tries where an answer cannot be right.", rich_help_panel=ASKING
    ),
]
Connections = Annotated[
    int | None,
    typer.Option("--max-connections", min=1, help="Calls at once; default: adapts.", rich_help_panel=ASKING),
]
StrategyName = Annotated[
    str,
    typer.Option(
        "--strategy",
        help="What is asked after an answer: sample, refine, evolve, tree, react; refine,turns=5,...",
        rich_help_panel=ASKING,
    ),
]
StartName = Annotated[
    str | None,
    typer.Option(
        "--start",
        help="What a search begins with: inductor, expert, folder:DIR, run:DIR (its best).",
        rich_help_panel=ASKING,
    ),
]
BudgetOfSample = Annotated[
    str | None,
    typer.Option(
        "--budget", help="What a sample may cost: calls=20,tokens=200000,evaluations=20,...", rich_help_panel=BUDGET
    ),
]
BudgetTokens = Annotated[
    int | None,
    typer.Option("--budget-tokens", min=1, help="Tokens that all calls may read and write.", rich_help_panel=BUDGET),
]
BudgetUsd = Annotated[
    float | None,
    typer.Option("--budget-usd", min=0.0, help="What all calls may cost in dollars.", rich_help_panel=BUDGET),
]
Prices = Annotated[
    str | None,
    typer.Option(
        "--prices", help="Dollars for a million tokens read and written, 1.25,10; or a file.", rich_help_panel=BUDGET
    ),
]
GenerateOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--generate",
        "-G",
        help="Options of Inspect's: max_tokens=16000, reasoning_effort=high, timeout=600, max_retries=5, ...",
        rich_help_panel=ASKING,
    ),
]
Threshold = Annotated[
    float, typer.Option("--threshold", min=0.0, help="The p of the headline fast_p.", rich_help_panel=ASKING)
]
Timed = Annotated[
    bool, typer.Option("--timing/--no-timing", help="Time candidates that are right.", rich_help_panel=JUDGING)
]
Verbose = Annotated[
    bool,
    typer.Option("--verbose", help="Inspect's log explains with build logs and all samples.", rich_help_panel=ASKING),
]
BuildFolder = Annotated[
    Path | None,
    typer.Option("--build-dir", help="Folder of the build cache; default: the usual one.", rich_help_panel=JUDGING),
]
Cached = Annotated[
    bool, typer.Option("--cache", help="Reuse its answers to the same prompts.", rich_help_panel=ASKING)
]


def ask(
    model: ModelName,
    out: OutFolder,
    model_arg: ModelArguments = None,
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
    timed: Timed = True,
    jobs: Jobs = None,
    build_dir: BuildFolder = None,
    samples: Samples = 1,
    strategy: StrategyName = "sample",
    start: StartName = None,
    option: Shots = ShotsOption.one_shot,
    hardware: Hardware = False,
    gpu: GpuName = None,
    templates: Templates = None,
    temperature: Temperature = 0.0,
    generate: GenerateOptions = None,
    max_regenerations: Regenerations = 10,
    max_connections: Connections = None,
    cache: Cached = False,
    threshold: Threshold = 1.0,
    verbose: Verbose = False,
    budget: BudgetOfSample = None,
    budget_tokens: BudgetTokens = None,
    budget_usd: BudgetUsd = None,
    prices: Prices = None,
) -> None:
    """Ask a language model for kernels, judge them and keep every record. Ctrl-C loses nothing that was finished."""
    where = running_device(device)
    given = {
        "splits": None if level is None else [f"level_{number}" for number in parse_levels(level) or ()],
        "num_correct_trials": num_correct_trials,
        "num_perf_trials": num_perf_trials,
    }
    task = {
        **{name: value for name, value in given.items() if value is not None},
        "problems": parse_names(problems),
        "suite": suite,
        "limit": limit,
        "backend": backend,
        "sizes": value_of(sizes),
        "device": where,
        "protocol": protocol,
        "math": value_of(math),
        "precision": value_of(precision),
        "timing_method": timer,
        "kernel_policy": value_of(kernel_policy),
        "gpu_memory_gb": chosen_gpu_memory(gpu_memory, where),
        "measure_performance": timed,
        "jobs": jobs,
        "build_dir": str(build_dir) if build_dir else None,
        "strategy": strategy,
        "start": start,
        "option": option.value,
        "include_hardware": hardware or gpu is not None,
        "gpu_name": gpu,
        "templates": str(templates) if templates else None,
        "temperature": temperature,
        "check_kernel": max_regenerations > 0,
        "max_regenerations": max_regenerations,
        "p": threshold,
        "verbose": verbose,
        "budget": budget,
        "budget_tokens": budget_tokens,
        "budget_usd": budget_usd,
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

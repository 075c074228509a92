"""`kernelgauge run`: how good is this contestant?"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from kernelgauge import __version__
from kernelgauge.cli.contest import Jobs, judge_contestant, selected
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
    Untimed,
    Verbose,
    judge_model,
)
from kernelgauge.cli.options import (
    BackendName,
    CheckedCalls,
    DeviceName,
    GpuMemoryGb,
    MathName,
    PrecisionName,
    ProtocolName,
    RulesName,
    SizesName,
    SuiteName,
    TimedCalls,
    TimingMethod,
    chosen_gpu_memory,
    chosen_rules,
    chosen_suite,
    command_line,
    parse_levels,
    parse_names,
    running_device,
    sizes_of_run,
)
from kernelgauge.cli.prompt import GpuName, Hardware, Shots, ShotsOption, Templates
from kernelgauge.errors import UsageError


def _check_one_suite(contestant: str, names: Sequence[str] | None) -> None:
    """A folder's files say level and number, and no suite: those of several could be taken for one another."""
    from kernelgauge.problems.catalogue import split
    from kernelgauge.problems.loader import is_own_file
    from kernelgauge.problems.suites import BUILT_IN

    named = {split(name)[0] or BUILT_IN for name in names or () if not is_own_file(name)}
    if contestant.startswith("folder:") and len(named) > 1:
        raise UsageError(
            f"{contestant} answers one suite, and the problems are of {', '.join(sorted(named))}: run each"
        )


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
    timing_method: TimingMethod = None,
    num_correct_trials: CheckedCalls = None,
    num_perf_trials: TimedCalls = None,
    kernels: RulesName = None,
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
    p: Threshold = 1.0,
    untimed: Untimed = False,
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
            **{"p": p, "measure_performance": not untimed, "verbose": verbose},
            **{"problems": parse_names(problems), "suite": suite, "limit": limit, "backend": backend},
            **{"sizes": sizes.value if sizes else None, "device": where, "protocol": protocol},
            **{"math": math.value if math else None, "precision": precision.value if precision else None},
            **{
                "timing_method": timing_method,
                "jobs": jobs,
                "option": option.value,
                "rules": kernels.value if kernels else None,
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
    from kernelgauge.generation.contestant import digest_of
    from kernelgauge.generation.contestants import contestant_named
    from kernelgauge.problems.catalogue import DEFAULT_LEVELS
    from kernelgauge.schema import RunHeader
    from kernelgauge.store.run import Run
    from kernelgauge.store.since import check_same_origin

    where = running_device(device)
    rules = chosen_rules(protocol, math, precision, timing_method, where, kernels)
    rules = rules.counting(num_correct_trials, num_perf_trials)
    names = parse_names(problems)
    meant = chosen_suite(suite, names)
    if suite is None:
        _check_one_suite(contestant, names)
    who = contestant_named(contestant, backend, meant)
    default = level is None and names is None and meant is None
    levels = list(DEFAULT_LEVELS) if default else parse_levels(level)
    keys = selected(levels, names, who, [meant])[:limit]
    if not keys:
        raise UsageError(f"{contestant} has no candidate for any of the problems asked for")
    header = RunHeader(
        kernelgauge=__version__,
        contestant=who.name,
        problems=tuple(keys),
        sizes=sizes_of_run(sizes, where, keys),
        device=where,
        protocol=rules.name,
        protocol_digest=rules.digest,
        math=rules.agreement.math,
        rules=rules.rules,
        gpu_memory_gb=chosen_gpu_memory(gpu_memory, where),
        command=command_line(),
        origin=getattr(who, "origin", ""),
    )
    check_same_origin(out, header, partial(digest_of, who))
    with Run.create_or_resume(out, header) as store:
        judge_contestant(who, store, keys, rules, jobs, again=False)

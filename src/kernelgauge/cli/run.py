"""`kernelgauge run` and `reeval`: how good is this contestant?"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelgauge import __version__
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
    DeviceOption,
    GpuMemoryGb,
    MathName,
    MathOption,
    PrecisionName,
    ProtocolName,
    RulesName,
    RulesOption,
    SizesName,
    SizesOption,
    SuiteName,
    TimedCalls,
    TimingMethod,
    chosen_device,
    chosen_gpu_memory,
    chosen_rules,
    chosen_suite,
    command_line,
    parse_levels,
    parse_names,
    sizes_of_run,
)
from kernelgauge.cli.prompt import GpuName, Hardware, Shots, ShotsOption, Templates
from kernelgauge.errors import MachineError, UsageError
from kernelgauge.schema import suite_of

if TYPE_CHECKING:
    from kernelgauge.config import Protocol
    from kernelgauge.generation.contestant import Contestant
    from kernelgauge.store.run import Run

# Compilers on one GPU at once: each holds a problem's inputs, outputs and parameters there. More where that GPU
# compiles for others that wait for it.
_MOST_ON_DEVICE = 8
_MOST_WHERE_LENT = 16

Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        min=1,
        help="Candidates generated and built at once, and on a CPU checked; default: 1, on a GPU one for each core.",
    ),
]


def selected(
    levels: list[int] | None, wanted: list[str] | None, contestant: Contestant, suites: Sequence[str | None]
) -> list[str]:
    """Keys of the problems asked for that the contestant has candidates for; own files stand for themselves."""
    from kernelgauge.problems.catalogue import entry, select
    from kernelgauge.problems.loader import is_own_file, load_problem

    own = [load_problem(name).key for name in wanted or () if is_own_file(name)]
    within = _of_levels(levels, suites)
    if wanted is not None:
        suite = suites[0] if len(suites) == 1 else None
        named = select(names=[name for name in wanted if not is_own_file(name)], suite=suite)
        within = [key for key in named if levels is None or entry(key).level in levels] + own
    return [key for key in within if contestant.samples(key)]


def _of_levels(levels: list[int] | None, suites: Sequence[str | None]) -> list[str]:
    """Keys of these levels of all the suites; of several suites, each need not have every level."""
    from kernelgauge.problems.catalogue import select, suite_named

    if levels is None or len(suites) == 1:
        return [key for suite in suites for key in select(levels, suite=suite)]
    there = {suite: [level for level in levels if level in suite_named(suite).levels] for suite in suites}
    if unknown := set(levels).difference(*there.values()):
        raise UsageError(f"there is no level {min(unknown)} in any suite of this run")
    return [key for suite, some in there.items() for key in select(some, suite=suite)]


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


def _judge(
    contestant: Contestant, run: Run, keys: list[str], protocol: Protocol, jobs: int | None, again: bool
) -> None:
    from kernelgauge.cli.progress import RunProgress
    from kernelgauge.config import Limits
    from kernelgauge.contest import judge_all
    from kernelgauge.report.scores import score_run
    from kernelgauge.report.terminal import show
    from kernelgauge.session import Session

    if run.torn:
        typer.echo(f"kernelgauge: {run.torn}", err=True)
    jobs = jobs or usual_jobs(contestant, run.header.device)
    try:
        limits = Limits(gpu_memory_gb=run.header.gpu_memory_gb)
        with Session(limits=limits) as session, RunProgress() as watch:
            failed = judge_all(session, contestant, run, keys, protocol=protocol, jobs=jobs, again=again, watch=watch)
    except KeyboardInterrupt:
        count = len(run.done())
        kept = f"{count} records are kept in {run.path}"
        typer.echo(f"\nkernelgauge: {kept}; the same command goes on where this one stopped", err=True)
        raise
    show(score_run(run))
    typer.echo(f"records: {run.path}   report: kernelgauge report {run.path} --html report.html")
    machine = [done for done in failed if isinstance(done.result, MachineError)]
    if machine:
        raise MachineError(f"{len(machine)} candidates were not judged; the same command tries them again")


def usual_jobs(contestant: Contestant, device: str) -> int:
    """On a GPU as many as there are cores; fewer if each would also compute there, and take of its memory."""
    from kernelgauge.execution.local import devices_of, lent_for_builds
    from kernelgauge.generation.contestant import on_device

    cores = len(os.sched_getaffinity(0))
    if device == "cpu":
        return 1
    if not on_device(contestant):
        return cores
    lent = lent_for_builds(devices_of(device))
    return min(cores, _MOST_WHERE_LENT * lent or _MOST_ON_DEVICE)


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
        where = chosen_device(device)
        splits = [f"level_{number}" for number in parse_levels(level) or ()]
        counts = {"num_correct_trials": num_correct_trials, "num_perf_trials": num_perf_trials}
        task = {
            **({"splits": splits} if level is not None else {}),
            **{name: count for name, count in counts.items() if count is not None},
            **{"p": p, "measure_performance": not untimed, "verbose": verbose},
            **{"problems": parse_names(problems), "suite": suite, "limit": limit, "backend": backend},
            **{"sizes": sizes.value if sizes else None, "device": where, "protocol": protocol},
            **{"math": math.value if math else None, "precision": precision.value if precision else "fp32"},
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
    from kernelgauge.generation.contestants import contestant_named
    from kernelgauge.problems.catalogue import DEFAULT_LEVELS
    from kernelgauge.schema import RunHeader
    from kernelgauge.store.run import Run

    where = chosen_device(device)
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
    )
    with Run.create_or_resume(out, header) as store:
        _judge(who, store, keys, rules, jobs, again=False)


def reeval(
    folder: Annotated[Path, typer.Argument(help="The run whose candidates are judged again.")],
    out: Annotated[Path | None, typer.Option("--out", help="A new run folder; default: append to the same.")] = None,
    level: Annotated[str | None, typer.Option("--level")] = None,
    problems: Annotated[str | None, typer.Option("--problems")] = None,
    suite: SuiteName = None,
    limit: Annotated[int | None, typer.Option("--limit", min=1)] = None,
    sizes: Annotated[SizesOption | None, typer.Option("--sizes", help="Needs --out.")] = None,
    device: Annotated[DeviceOption | None, typer.Option("--device", help="Needs --out.")] = None,
    protocol: Annotated[str | None, typer.Option("--protocol", help="Needs --out.")] = None,
    math: MathName = None,
    precision: PrecisionName = None,
    timing_method: TimingMethod = None,
    kernels: RulesName = None,
    num_correct_trials: CheckedCalls = None,
    num_perf_trials: TimedCalls = None,
    gpu_memory: GpuMemoryGb = None,
    jobs: Jobs = None,
) -> None:
    """Judge the stored candidates of a run again: same rules, or other ones into a new folder."""
    from kernelgauge.generation.stored import Stored
    from kernelgauge.store.run import Run

    source = Run.read(folder)
    stored = Stored(source, skips=out is not None)
    names = parse_names(problems)
    meant = chosen_suite(suite, names)
    suites = [meant] if suite or meant else list(dict.fromkeys(map(suite_of, stored.problems())))
    keys = selected(parse_levels(level), names, stored, suites)[:limit]
    if not keys:
        raise UsageError(f"{folder} holds no candidate for any of the problems asked for")
    where = device.value if device else source.header.device
    same = MathOption(source.header.math) if source.header.math and not protocol else None
    rules = chosen_rules(
        protocol or source.header.protocol,
        math or (same if precision is None else None),
        precision,
        timing_method,
        where,
        kernels or (None if protocol else RulesOption(source.header.rules)),
    ).counting(num_correct_trials, num_perf_trials)
    if out is not None and protocol is None and rules.digest != source.header.protocol_digest:
        typer.echo(
            f"{rules.name} has other rules here than {folder} was judged by: a number of calls of its own "
            "(--num-correct-trials, --num-perf-trials), or another version of kernelgauge",
            err=True,
        )
    header = source.header.model_copy(
        update={
            "kernelgauge": __version__,
            "problems": tuple(keys),
            "sizes": sizes_of_run(sizes, "", keys) if sizes else source.header.sizes,
            "device": where,
            "protocol": rules.name,
            "protocol_digest": rules.digest,
            "math": rules.agreement.math,
            "rules": rules.rules,
            "gpu_memory_gb": chosen_gpu_memory(gpu_memory, where) or source.header.gpu_memory_gb,
            "command": command_line(),
        }
    )
    if out is None:
        changed = [
            name
            for name in ("sizes", "device", "protocol_digest", "rules", "gpu_memory_gb")
            if getattr(header, name) != getattr(source.header, name)
        ]
        if changed:
            raise UsageError(f"{folder} was judged with other {', '.join(changed)}: name a new folder with --out")
        with Run.open(folder) as store:
            _judge(stored, store, keys, rules, jobs, again=True)
    else:
        with Run.create_or_resume(out, header) as store:
            _judge(stored, store, keys, rules, jobs, again=False)

"""`kernelgauge reeval`: what is said of these candidates here and now, or by other rules?"""

from __future__ import annotations

from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelgauge import __version__
from kernelgauge.cli.contest import Jobs, judge_contestant
from kernelgauge.cli.options import (
    CheckedCalls,
    DeviceOption,
    ExecutorName,
    GpuMemoryGb,
    KernelPolicyFlag,
    KernelPolicyOption,
    MathName,
    MathOption,
    PrecisionName,
    SizesOption,
    SuiteName,
    TimedCalls,
    TimerName,
    chosen_gpu_memory,
    chosen_protocol,
    command_line,
    parse_levels,
    parse_names,
    sizes_of_run,
)
from kernelgauge.errors import UsageError
from kernelgauge.schema import suite_of

if TYPE_CHECKING:
    from kernelgauge.schema import RunHeader
    from kernelgauge.store.run import Run


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
    timer: TimerName = None,
    kernel_policy: KernelPolicyFlag = None,
    num_correct_trials: CheckedCalls = None,
    num_perf_trials: TimedCalls = None,
    gpu_memory: GpuMemoryGb = None,
    jobs: Jobs = None,
    executor: ExecutorName = None,
) -> None:
    """Judge the stored candidates of a run again: same rules, or other ones into a new folder."""
    from kernelgauge.execution.machines import machines_named
    from kernelgauge.generation.contestant import digest_of
    from kernelgauge.generation.stored import Stored
    from kernelgauge.session.selection import chosen_suite, selected
    from kernelgauge.store.run import Run
    from kernelgauge.store.since import check_same_origin

    source = Run.read(folder)
    stored = Stored(source, skips=out is not None)
    names = parse_names(problems)
    meant = chosen_suite(suite, names)
    suites = [meant] if suite or meant else list(dict.fromkeys(map(suite_of, stored.problems())))
    keys = selected(parse_levels(level), names, stored, suites)[:limit]
    if not keys:
        raise UsageError(f"{folder} holds no candidate for any of the problems asked for")
    with closing(machines_named(executor)) as machines:
        where = machines.device(device.value if device else source.header.device)
        same = MathOption(source.header.math) if source.header.math and not protocol else None
        chosen = chosen_protocol(
            protocol or source.header.protocol,
            math or (same if precision is None else None),
            precision,
            timer,
            where,
            kernel_policy or (None if protocol else KernelPolicyOption(source.header.kernel_policy)),
        ).counting(num_correct_trials, num_perf_trials)
        if out is not None and protocol is None and chosen.digest != source.header.protocol_digest:
            typer.echo(
                f"{chosen.name} has other rules here than {folder} was judged by: a number of calls of its own "
                "(--num-correct-trials, --num-perf-trials), or another version of kernelgauge",
                err=True,
            )
        header = source.header.model_copy(
            update={
                "kernelgauge": __version__,
                "problems": tuple(keys),
                "sizes": sizes_of_run(sizes, "", keys) if sizes else source.header.sizes,
                "device": where,
                "protocol": chosen.name,
                "protocol_digest": chosen.digest,
                "math": chosen.tolerance.math,
                "kernel_policy": chosen.kernel_policy,
                "gpu_memory_gb": chosen_gpu_memory(gpu_memory, where) or source.header.gpu_memory_gb,
                "command": command_line(),
            }
        )
        if out is None:
            _check_unchanged(header, source)
            with Run.open(folder) as store:
                judge_contestant(stored, store, keys, chosen, jobs, True, machines)
        else:
            check_same_origin(out, header, partial(digest_of, stored))
            with Run.create_or_resume(out, header) as store:
                judge_contestant(stored, store, keys, chosen, jobs, False, machines)


def _check_unchanged(header: RunHeader, run: Run) -> None:
    """Raises UsageError if records under this header would not belong beside those of the run."""
    fields = ("sizes", "device", "protocol_digest", "kernel_policy", "gpu_memory_gb")
    if changed := [name for name in fields if getattr(header, name) != getattr(run.header, name)]:
        raise UsageError(f"{run.path} was judged with other {', '.join(changed)}: name a new folder with --out")

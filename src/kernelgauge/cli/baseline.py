"""`kernelgauge baseline`: how fast is PyTorch itself, eager and compiled?"""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelgauge import __version__
from kernelgauge.cli.options import (
    AsJson,
    DeviceName,
    ExecutorName,
    GpuMemoryGb,
    KernelPolicyOption,
    MathName,
    ProtocolName,
    SizesName,
    SuiteName,
    chosen_gpu_memory,
    chosen_protocol,
    command_line,
    parse_levels,
    parse_names,
    sizes_of_run,
    value_of,
)
from kernelgauge.cli.printed import print_object
from kernelgauge.errors import UsageError

if TYPE_CHECKING:
    from kernelgauge.config import Protocol
    from kernelgauge.execution.local import Done
    from kernelgauge.execution.machines import Machines
    from kernelgauge.generation.torch_modes import TorchModes
    from kernelgauge.schema import Baseline, Mode, RunHeader
    from kernelgauge.store.run import Run

app = typer.Typer(help="How fast PyTorch itself is, eager and compiled.", invoke_without_command=True)

# Max-autotune tries dozens of kernels for a product, and a model has many.
_BUILD_SECONDS = 3600.0
# What a worker does not find in the cache it compiles in its first call.
_CALL_SECONDS = 600.0


@app.callback()
def measure(
    context: typer.Context,
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder to measure into; an unfinished one goes on.")
    ] = None,
    modes: Annotated[str | None, typer.Option("--modes", help="Such as eager,compile; default: all.")] = None,
    level: Annotated[str | None, typer.Option("--level", help="Levels, such as 1,2; default: all but 4.")] = None,
    problems: Annotated[str | None, typer.Option("--problems", help="Problems, such as 1/19,2/14.")] = None,
    suite: SuiteName = None,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Only the first so many.")] = None,
    recheck: Annotated[
        int | None, typer.Option("--recheck", min=1, help="Measure so many of the known ones again, drawn at random.")
    ] = None,
    sizes: SizesName = None,
    device: DeviceName = None,
    protocol: ProtocolName = "strict",
    math: MathName = None,
    gpu_memory: GpuMemoryGb = None,
    executor: ExecutorName = None,
) -> None:
    """Measure PyTorch's modes against eager; later evaluations here then say their speedup over the fastest."""
    if context.invoked_subcommand:
        return
    if out is None:
        raise UsageError("missing option '--out': the folder to measure into")
    from kernelgauge.execution.machines import machines_named
    from kernelgauge.generation.torch_modes import TorchModes
    from kernelgauge.problems.catalogue import DEFAULT_LEVELS
    from kernelgauge.schema import RunHeader
    from kernelgauge.session.run import complain_of_unjudged
    from kernelgauge.session.selection import chosen_suite, selected
    from kernelgauge.store.run import Run

    machines = machines_named(executor)
    if recheck and not machines.here:
        raise UsageError("--recheck measures this machine's baselines again: leave --executor out")
    where = machines.device(value_of(device))
    chosen = chosen_protocol(
        protocol, math, None, None, where, KernelPolicyOption.anything
    )  # PyTorch itself is what is meant
    contestant = TorchModes(_modes(modes, where), chosen.tolerance.math)
    names = parse_names(problems)
    meant = chosen_suite(suite, names)
    default = level is None and names is None and meant is None
    levels = list(DEFAULT_LEVELS) if default else parse_levels(level)
    keys = selected(levels, names, contestant, [meant])
    header = RunHeader(
        kernelgauge=__version__,
        contestant=contestant.name,
        problems=tuple(keys[:limit]),
        sizes=sizes_of_run(sizes, where, keys),
        device=where,
        protocol=chosen.name,
        protocol_digest=chosen.digest,
        math=chosen.tolerance.math,
        kernel_policy=chosen.kernel_policy,
        gpu_memory_gb=chosen_gpu_memory(gpu_memory, where),
        command=command_line(),
    )
    before: list[Baseline] = []
    if recheck:
        before = _known(header)
        header = header.model_copy(update={"problems": _drawn(out, keys, before, recheck)})
    with closing(machines), Run.create_or_resume(out, header) as store:
        failed = _judge(contestant, store, chosen, machines)
    _show_run(out, before)
    complain_of_unjudged(failed, "modes")


def _modes(text: str | None, device: str) -> tuple[Mode, ...]:
    from kernelgauge.generation.torch_modes import modes_on

    there = modes_on(device)
    wanted = parse_names(text) or there
    for name in wanted:
        if name not in there:
            raise UsageError(f"there is no mode {name!r} on {device}: there are {', '.join(there)}")
    return tuple(mode for mode in there if mode in wanted)


def _known(header: RunHeader) -> list[Baseline]:
    """The baselines of this machine that were measured as the header asks."""
    from kernelgauge.config import load_settings
    from kernelgauge.hardware.environment import environment
    from kernelgauge.schema import setting
    from kernelgauge.store.baselines import Baselines

    settings = load_settings()
    here = setting(header.sizes, header.device, header.protocol_digest, environment(settings.threads))
    known = Baselines(settings.cache / "baselines").all()
    return [e for e in known if setting(e.sizes, e.device, e.protocol_digest, e.environment) == here]


def _drawn(out: Path, keys: Sequence[str], known: Sequence[Baseline], count: int) -> tuple[str, ...]:
    """Problems to measure again: those of the folder if it goes on, or some of the known ones at random."""
    from kernelgauge.store.run import Run

    if (out / "run.json").is_file():
        return Run.read(out).header.problems
    there = [key for key in keys if any(each.problem == key for each in known)]
    if not there:
        raise UsageError("none of these problems has a baseline of this machine in this setting: measure them first")
    return tuple(random.sample(there, min(count, len(there))))


def _judge(contestant: TorchModes, run: Run, protocol: Protocol, machines: Machines) -> list[Done]:
    """Measure what is missing and keep all of it; those that were not measured."""
    from kernelgauge.cli.progress import ModesProgress
    from kernelgauge.config import Limits
    from kernelgauge.generation.torch_modes import baseline
    from kernelgauge.session.contest import judge_all
    from kernelgauge.session.run import usual_jobs
    from kernelgauge.session.session import Session
    from kernelgauge.store.baselines import FILE, write

    if run.torn:
        typer.echo(f"kernelgauge: {run.torn}", err=True)
    limits = Limits(
        build_seconds=_BUILD_SECONDS,
        call_seconds=_CALL_SECONDS,
        hang_seconds=_CALL_SECONDS,
        gpu_memory_gb=run.header.gpu_memory_gb,
    )
    with Session(limits=limits, machines=machines) as session:
        try:
            with ModesProgress() as watch:
                jobs = usual_jobs(contestant, run.header.device)
                return judge_all(
                    session, contestant, run, run.header.problems, protocol=protocol, jobs=jobs, watch=watch
                )
        except KeyboardInterrupt:
            kept = f"{len(run.done())} measurements are kept in {run.path}"
            typer.echo(f"\nkernelgauge: {kept}; the same command goes on where this one stopped", err=True)
            raise
        finally:
            found = [baseline(record) for record in run.latest()]
            session.baselines.add(found)
            write(run.path / FILE, found)


def _show_run(out: Path, before: Sequence[Baseline]) -> None:
    from kernelgauge.cli.tables import console
    from kernelgauge.report.figures.baselines import boards, changes, render
    from kernelgauge.store.baselines import FILE, read

    found = read(out / FILE)
    for board in boards(found):
        console().print(render(board))
    for line in changes(before, found):
        typer.echo(line)
    typer.echo(f"baselines: {out / FILE}   those known here: kernelgauge baseline show")


@app.command()
def show(
    file: Annotated[
        Path | None, typer.Argument(help="A file or folder; default: all that this machine knows.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print eager's time, each mode's speedup, the strongest mode, and geometric means per level."""
    from kernelgauge.cli.tables import console
    from kernelgauge.config import load_settings
    from kernelgauge.report.figures.baselines import boards, render
    from kernelgauge.store.baselines import Baselines, read

    found = read(file) if file else Baselines(load_settings().cache / "baselines").all()
    made = boards(found)
    if as_json:
        print_object({"boards": [board.model_dump(mode="json") for board in made]})
        return
    for board in made:
        console().print(render(board))
    if not made:
        typer.echo("no baselines are known here: `kernelgauge baseline --out FOLDER` measures them")


@app.command()
def add(file: Annotated[Path, typer.Argument(help="A file or folder of baselines measured elsewhere.")]) -> None:
    """Take baselines of another machine of the same kind, so that evaluations here are compared with them too."""
    from kernelgauge.config import load_settings
    from kernelgauge.store.baselines import Baselines, read

    found = read(file)
    new = Baselines(load_settings().cache / "baselines").add(found)
    typer.echo(f"{new} of {len(found)} baselines were new here")

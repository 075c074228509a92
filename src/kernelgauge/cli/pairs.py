"""`kernelgauge pairs`: PyTorch modules with kernels and verdicts, as data to train on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelgauge.cli.contest import Jobs
from kernelgauge.cli.options import (
    PROBLEMS,
    AsJson,
    DeviceName,
    ExecutorName,
    KernelPolicyFlag,
    ProtocolName,
    chosen_protocol,
    parse_names,
    value_of,
)
from kernelgauge.cli.printed import print_object

if TYPE_CHECKING:
    from kernelgauge.pairs.workshop import Workshop

app = typer.Typer(help="PyTorch modules with kernels and verdicts, as data to train on.", no_args_is_help=True)


@app.command()
def make(
    out: Annotated[Path, typer.Option("--out", help="Folder; one that was begun goes on.")],
    rows: Annotated[int, typer.Option("--rows", min=1, help="How many, at least.")] = 100,
    sources: Annotated[
        list[str] | None,
        typer.Option(
            "--source",
            help="recipe:fusion, recipe:variants, folder:DIR, layers:torch, layers:torchvision; may be repeated. "
            "Default: both recipes and layers:torch.",
            rich_help_panel=PROBLEMS,
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Of the recipes.", rich_help_panel=PROBLEMS)] = 0,
    licence: Annotated[
        str,
        typer.Option(
            "--licence",
            help="SPDX name for the files of a folder; default: what they and the files beside them say.",
            rich_help_panel=PROBLEMS,
        ),
    ] = "",
    distance: Annotated[
        float,
        typer.Option(
            "--distance",
            min=0.0,
            max=1.0,
            help="Least distance from each built-in problem.",
            rich_help_panel=PROBLEMS,
        ),
    ] = 0.1,
    sizes: Annotated[
        str | None,
        typer.Option("--sizes", help="Such as full,odd; default: full,odd on a GPU, medium,odd on a CPU."),
    ] = None,
    math: Annotated[str, typer.Option("--math", help="Arithmetics, such as ieee,bf16.")] = "ieee,bf16",
    negatives: Annotated[float, typer.Option("--negatives", min=0.0, max=0.9, help="Share of negative rows.")] = 0.3,
    validation: Annotated[
        float, typer.Option("--validation", min=0.0, max=1.0, help="Share of structures kept to validate.")
    ] = 0.1,
    device: DeviceName = None,
    protocol: ProtocolName = "strict",
    kernel_policy: KernelPolicyFlag = None,
    jobs: Jobs = None,
    executor: ExecutorName = None,
) -> None:
    """Make pairs: modules, the compiler's kernels for them, negatives of these; all judged, in one Parquet file.

    Ctrl-C, or a kill, loses nothing that was judged: the same command goes on.
    """
    from kernelgauge.errors import MachineError
    from kernelgauge.execution.machines import machines_named
    from kernelgauge.pairs.columns import pyarrow_and_parquet
    from kernelgauge.pairs.make import Maker
    from kernelgauge.pairs.tidy import Tidy
    from kernelgauge.pairs.workshop import Workshop, asked_for
    from kernelgauge.report.figures.cost import evaluation_cost, in_words
    from kernelgauge.session.run import usual_jobs
    from kernelgauge.session.session import Session

    pyarrow_and_parquet()  # what is missing is better said before hours of work
    with closing(machines_named(executor)) as machines:
        where = machines.device(value_of(device))
        judged = chosen_protocol(protocol, None, None, None, where, kernel_policy)
        asked = asked_for(
            judged,
            where,
            sources=sources or ["recipe:fusion", "recipe:variants", "layers:torch"],
            seed=seed,
            sizes=parse_names(sizes) or (["medium", "odd"] if where == "cpu" else ["full", "odd"]),
            maths=parse_names(math) or [],
            negatives=negatives,
            distance=distance,
            validation=validation,
            licence=licence,
        )
        at_once = jobs or usual_jobs(Tidy("ieee", None), where)
        with Workshop(out, asked) as workshop, Session(machines=machines) as session:
            with _telling(workshop, rows) as tell:
                maker = Maker(session, workshop, where, judged, rows, at_once, tell)
                try:
                    maker.run()
                except KeyboardInterrupt:
                    kept = f"{len(workshop.rows)} rows of {len(workshop.modules)} modules are kept in {out}"
                    typer.echo(f"\nkernelgauge: {kept}; the same command goes on where this one stopped", err=True)
                    raise
                finally:
                    _written(workshop)
                    if cost := evaluation_cost(maker.evaluations):
                        typer.echo(in_words(cost), err=True)
            if maker.failed:
                raise MachineError(
                    f"{len(maker.failed)} kernels were not judged; the same command tries them again; the last: "
                    f"{maker.failed[-1]}"
                )
            if len(workshop.rows) < rows:
                typer.echo(f"kernelgauge: the sources gave only {len(workshop.rows)} of {rows} rows", err=True)


@contextmanager
def _telling(workshop: Workshop, rows: int) -> Iterator[Callable[[str, str], None]]:
    """A line for each module and kernel that is finished, and a bar of the rows."""
    from kernelgauge.cli.progress import counting

    with counting("rows", rows) as seen:
        done = 0

        def tell(name: str, what: str) -> None:
            nonlocal done
            typer.echo(f"{name}: {what}", err=True)
            while done < len(workshop.rows):
                done += 1
                seen(name)

        yield tell


@app.command()
def check(
    file: Annotated[Path, typer.Argument(help="A Parquet file of `pairs make`.")],
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Only the first so many rows.")] = None,
    timed: Annotated[bool, typer.Option("--timed/--untimed", help="Whether to measure speeds again.")] = True,
    device: DeviceName = None,
    jobs: Jobs = None,
    executor: ExecutorName = None,
    as_json: AsJson = False,
) -> None:
    """Judge every row of a file again, from the file alone. Exit code 1 if a verdict is another one."""
    from itertools import islice

    from kernelgauge.cli.progress import counting
    from kernelgauge.execution.machines import machines_named
    from kernelgauge.pairs.check import check as checked
    from kernelgauge.pairs.columns import read
    from kernelgauge.pairs.tidy import Tidy
    from kernelgauge.session.run import usual_jobs
    from kernelgauge.session.session import Session

    rows = list(islice(read(file), limit))
    with closing(machines_named(executor)) as machines:
        where = machines.device(value_of(device) or (rows[0].device.partition(":")[0] if rows else None))
        at_once = jobs or usual_jobs(Tidy("ieee", None), where)
        with Session(machines=machines) as session, counting("judging again", len(rows)) as seen:
            found = checked(session, rows, where, at_once, timed, seen)
    if as_json:
        print_object(found)
    else:
        for each in found.differs:
            typer.echo(f"{each.module} ({each.id}): {each.then} in the file, now {each.now}")
        speeds = ", ".join(f"{count} {name}" for name, count in found.speeds.items()) or "none measured"
        if found.wrong_otherwise:
            typer.echo(f"{found.wrong_otherwise} wrong answers have an error of another size now")
        typer.echo(
            f"{file}: {found.same} of {found.rows} rows have the same verdict; intervals of the speedup: {speeds}"
        )
        for reason, count in found.unjudged.items():
            typer.echo(f"kernelgauge: {count} rows cannot be judged here: {reason}", err=True)
        if failed := found.not_judged - sum(found.unjudged.values()):
            typer.echo(f"kernelgauge: the machine failed {failed} of them", err=True)
        if found.other_hardware:
            typer.echo(f"kernelgauge: {found.other_hardware} rows are from other hardware than this", err=True)
    if found.partial:
        typer.echo(f"kernelgauge: stopped after {found.rows} of {len(rows)} rows", err=True)
        raise typer.Exit(130)
    if found.differs:
        raise typer.Exit(1)
    if found.not_judged:
        raise typer.Exit(3)


def _written(workshop: Workshop) -> None:
    """The file and its card, of all rows that there are."""
    from kernelgauge.pairs import card, columns

    rows = workshop.rows
    if not rows:
        return
    file = workshop.path / "pairs.parquet"
    columns.write(rows, file)
    card.write(workshop, rows, workshop.path / "README.md")
    positive = sum(row.kind == "positive" for row in rows)
    typer.echo(f"{file}: {len(rows)} rows, {positive} positive, {len(rows) - positive} negative")

"""`kernelgauge replay-check`: do we say of other people's candidates what others have said of them?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelgauge import __version__
from kernelgauge.cli.contest import Jobs
from kernelgauge.cli.options import (
    AsJson,
    BackendName,
    DeviceName,
    GpuMemoryGb,
    KernelPolicyFlag,
    SizesOption,
    SuiteName,
    chosen_gpu_memory,
    chosen_protocol,
    command_line,
    parse_names,
    running_device,
    sizes_of_run,
)
from kernelgauge.cli.printed import print_object
from kernelgauge.errors import UsageError

if TYPE_CHECKING:
    from kernelgauge.config import Protocol
    from kernelgauge.generation.foreign import Foreign, Unusable
    from kernelgauge.report.figures.elsewhere import Replayed
    from kernelgauge.schema import RunHeader
    from kernelgauge.session.session import Session

_LONGEST_REASON = 300


def replay_check(
    folder: Annotated[Path, typer.Argument(help="Candidates X.py, each with its verdict X.json beside it.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Folder of a run for each protocol; default: FOLDER.replayed."),
    ] = None,
    protocols: Annotated[str, typer.Option("--protocols", help="Protocols to judge by.")] = "strict,v0.1",
    problems: Annotated[str | None, typer.Option("--problems", help="Only those for these, such as 1/19.")] = None,
    suite: SuiteName = None,
    backend: BackendName = None,
    sizes: Annotated[
        SizesOption, typer.Option("--sizes", help="Size constants; speeds are comparable at full sizes only.")
    ] = SizesOption.full,
    device: DeviceName = None,
    kernel_policy: KernelPolicyFlag = None,
    gpu_memory: GpuMemoryGb = None,
    jobs: Jobs = None,
    apart: Annotated[
        float, typer.Option("--apart", min=1.0, help="Speedups that differ by more than this factor differ.")
    ] = 1.5,
    as_json: AsJson = False,
) -> None:
    """Judge foreign candidates and compare with their recorded verdicts; goes on where it was stopped.

    Exit code: 0 if nothing differs, 1 if something does or a file is unusable, 2 wrong use, 3 the machine failed.
    """
    from kernelgauge.generation.foreign import read_folder
    from kernelgauge.problems.catalogue import select
    from kernelgauge.session.selection import chosen_suite

    where = running_device(device)
    names = parse_names(problems)
    meant = chosen_suite(suite, names)
    wanted = parse_names(protocols) or []
    chosen = [chosen_protocol(name, None, None, None, where, kernel_policy) for name in dict.fromkeys(wanted)]
    if len({each.name for each in chosen}) < len(chosen):
        raise UsageError("two of these protocols have the same name: give one of them another")
    found, unusable = read_folder(folder, backend, meant)
    for each in unusable:
        typer.echo(f"kernelgauge: left out: {each.reason}", err=True)
    if names is not None:
        keys = select(names=names, suite=meant)
        found = [each for each in found if each.problem in keys]
    if not found:
        raise UsageError(f"{folder} holds no usable candidate for any of the problems asked for")
    problems_asked = tuple(dict.fromkeys(each.problem for each in found))
    header = _header(problems_asked, sizes, where, chosen_gpu_memory(gpu_memory, where))
    beside = out or folder.resolve().with_name(f"{folder.resolve().name}.replayed")
    results = _judged(folder, found, chosen, header, beside, jobs, apart)
    _show(results, unusable, as_json)
    raise typer.Exit(1 if unusable or any(result.differing for result in results) else 0)


def _header(keys: tuple[str, ...], sizes: SizesOption, where: str, gpu_memory: float | None) -> RunHeader:
    """Of every run, but for what its protocol adds."""
    from kernelgauge.schema import RunHeader

    return RunHeader(
        kernelgauge=__version__,
        contestant="",
        problems=keys,
        sizes=sizes_of_run(sizes, where, keys),
        device=where,
        protocol="",
        protocol_digest="",
        gpu_memory_gb=gpu_memory,
        command=command_line(),
    )


def _judged(
    folder: Path,
    found: Sequence[Foreign],
    protocols: Sequence[Protocol],
    header: RunHeader,
    beside: Path,
    jobs: int | None,
    apart: float,
) -> list[Replayed]:
    from kernelgauge.config import Limits
    from kernelgauge.session.session import Session

    with Session(limits=Limits(gpu_memory_gb=header.gpu_memory_gb)) as session:
        return [_replay(session, folder, found, protocol, header, beside, jobs, apart) for protocol in protocols]


def _replay(
    session: Session,
    folder: Path,
    found: Sequence[Foreign],
    protocol: Protocol,
    header: RunHeader,
    beside: Path,
    jobs: int | None,
    apart: float,
) -> Replayed:
    """All candidates under one protocol, in a run folder of its own."""
    from kernelgauge.cli.progress import RunProgress
    from kernelgauge.generation.contestant import digest_of
    from kernelgauge.generation.foreign import Foreigners
    from kernelgauge.report.figures.elsewhere import replayed
    from kernelgauge.report.runs import FolderRun
    from kernelgauge.session.contest import judge_all
    from kernelgauge.session.run import usual_jobs
    from kernelgauge.store.run import Run
    from kernelgauge.store.since import check_same_origin

    path = beside / re.sub(r"[^\w.-]", "_", protocol.name)
    before = Run.read(path).standing() if (path / "run.json").is_file() else {}
    held = {(problem, digest): sample for (problem, sample), digest in before.items() if digest is not None}
    contestant = Foreigners(folder, found, held)
    asked = header.model_copy(
        update={
            "contestant": contestant.name,
            "origin": contestant.origin,
            "protocol": protocol.name,
            "protocol_digest": protocol.digest,
            "math": protocol.tolerance.math,
            "kernel_policy": protocol.kernel_policy,
        }
    )
    check_same_origin(path, asked, partial(digest_of, contestant))
    typer.echo(f"kernelgauge: {protocol.name}: {len(found)} candidates, into {path}", err=True)
    with Run.create_or_resume(path, asked) as run:
        if run.torn:
            typer.echo(f"kernelgauge: {run.torn}", err=True)
        try:
            with RunProgress() as watch:
                failed = judge_all(
                    session,
                    contestant,
                    run,
                    asked.problems,
                    protocol=protocol,
                    jobs=jobs or usual_jobs(contestant, asked.device),
                    watch=watch,
                )
        except KeyboardInterrupt:
            kept = f"{len(run.done())} records are kept in {path}"
            typer.echo(f"\nkernelgauge: {kept}; the same command goes on where this one stopped", err=True)
            raise
    why_not = {(done.task.problem, done.task.sample): str(done.result) for done in failed}
    return replayed(FolderRun.read(path), contestant.answers, apart, why_not)


def _show(results: Sequence[Replayed], unusable: Sequence[Unusable], as_json: bool) -> None:
    if as_json:
        protocols = {each.protocol: each.model_dump(mode="json") for each in results}
        left_out = [each.model_dump() for each in unusable]
        print_object({"protocols": protocols, "left_out": left_out})
        return
    from rich.markup import escape
    from rich.table import Table

    from kernelgauge.cli.tables import console
    from kernelgauge.report.figures.elsewhere import AGREEMENTS

    for result in results:
        table = Table(title=f"{result.protocol}, {result.sizes} sizes, on {result.device}", box=None)
        table.title_justify = "left"
        table.add_column("held for")
        for agreement in AGREEMENTS:
            table.add_column(agreement.replace("_", " "), justify="right")
        for label, counts in (*result.by_label.items(), ("all", result.counts)):
            table.add_row(label, *(str(counts[agreement]) for agreement in AGREEMENTS))
        console().print(table)
        for row in result.differing:
            ours = f"{row.outcome or 'not judged'}{f' ({row.rule})' if row.rule else ''}"
            if row.speedup is not None and row.speedup_interval is not None:
                low, high = row.speedup_interval
                ours += f" {row.speedup:.3g}x (95 % between {low:.3g} and {high:.3g})"
            reason = " ".join(row.reason.split())[:_LONGEST_REASON]
            said = f"{row.agreement.replace('_', ' ')}: {row.file} ({row.problem}): elsewhere {row.elsewhere.line}; "
            console().print(escape(f"{said}here {ours}{f': {reason}' if reason else ''}"), soft_wrap=True)
        console().print(f"records: {escape(result.folder)}", soft_wrap=True)

"""`kernelgauge export`: the records of runs as tables for other people's tools, and as data to train on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernelgauge.cli.notices import tell_shortcomings
from kernelgauge.cli.options import SplitOption, parse_names, value_of
from kernelgauge.errors import UsageError

if TYPE_CHECKING:
    from kernelgauge.schema import Record
    from kernelgauge.training.examples import Turn


class FormatOption(StrEnum):
    """What files are written."""

    csv = "csv"
    json = "json"
    parquet = "parquet"
    sft = "sft"
    dpo = "dpo"
    trajectories = "trajectories"
    rl = "rl"


_TABLES = (FormatOption.csv, FormatOption.json, FormatOption.parquet)


def export(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(help="Run folders or logs of Inspect; to train on, also files of `pairs make`."),
    ] = None,
    table: Annotated[
        str | None, typer.Option("--table", help="Such as evaluations,trials; default: all with --out.")
    ] = None,
    form: Annotated[
        FormatOption,
        typer.Option(
            "--format",
            help="csv, json, parquet: tables. sft, dpo, trajectories, and for pairs rl: data to train on, a JSON "
            "object a line.",
        ),
    ] = FormatOption.csv,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Folder for a file a table or format; default: one is printed."),
    ] = None,
    columns: Annotated[bool, typer.Option("--columns", help="Say what the tables and columns are instead.")] = False,
    split: Annotated[
        SplitOption | None, typer.Option("--split", help="To train on: only one part of pairs or generated problems.")
    ] = None,
    templates: Annotated[
        Path | None,
        typer.Option("--templates", help="To train on: the folder of templates that the runs were asked with."),
    ] = None,
) -> None:
    """Write tidy tables of runs: evaluations, fast_p, raw samples, trials, stages, candidates and more. Or write
    runs, searches and pairs as data to train on: prompts, answers, feedback, verdicts, tokens, costs.
    """
    if form not in _TABLES:
        if table or columns:
            raise UsageError(f"--format {form.value} writes no table: leave --table and --columns out")
        _to_train_on(runs or [], form.value, out, value_of(split), templates)
        return
    _tables(runs, table, form.value, out, columns)


def _tables(runs: list[Path] | None, table: str | None, form: Any, out: Path | None, columns: bool) -> None:
    from kernelgauge.report.tables.columns import TABLES, table_named
    from kernelgauge.report.tables.frames import as_text, write
    from kernelgauge.runs import load

    names = parse_names(table) or list(TABLES if out or columns else ("evaluations",))
    wanted = [table_named(name) for name in names]
    if columns:
        for each in wanted:
            typer.echo(f"{each.name}: {each.about}")
            for column in each.columns:
                typer.echo(f"  {column.name:<20} {column.kind:<8} {column.about}")
        return
    if not runs:
        raise UsageError("missing argument 'RUNS': name a run folder or a log of Inspect")
    found = [load(run) for run in runs]
    tell_shortcomings(found)
    if out is not None:
        for each in wanted:
            typer.echo(write(found, each, form, out))
    elif len(wanted) > 1:
        raise UsageError("several tables do not fit one output: name a folder with --out")
    else:
        typer.echo(as_text(found, wanted[0], form), nl=False)


def _to_train_on(runs: list[Path], form: str, out: Path | None, split: str | None, templates: Path | None) -> None:
    from kernelgauge.store.disk import make_folder, write_whole
    from kernelgauge.training.examples import examples

    if not runs:
        raise UsageError("missing argument 'RUNS': name a run folder, a log of Inspect or a file of pairs")
    seen = Counter[bool]()
    lines = _tasks(runs, split) if form == "rl" else examples(_counted(_turns(runs, split, templates), seen), form)
    texts = (f"{line.model_dump_json()}\n" for line in lines)
    if out is None:
        for text in texts:
            typer.echo(text, nl=False)
    else:
        kept = list(texts)
        make_folder(out)
        file = out / f"{form}.jsonl"
        write_whole(file, "".join(kept).encode())
        typer.echo(f"{file}: {len(kept)} lines")
    if form == "sft" and seen[False]:
        why = "wrong, slower, not judged, or to a problem that does not count"
        typer.echo(f"kernelgauge: {seen[False]} of {seen.total()} answers left out: {why}", err=True)


def _counted(turns: Iterator[Turn], seen: Counter[bool]) -> Iterator[Turn]:
    """The turns; `seen` counts the answers among them that make a line of `sft`, and those that do not."""
    for turn in turns:
        if not turn.given:
            seen[turn.supervises] += 1
        yield turn


def _turns(paths: list[Path], split: str | None, templates: Path | None) -> Iterator[Turn]:
    from kernelgauge.pairs.columns import read
    from kernelgauge.pairs.turns import turns as of_pairs
    from kernelgauge.problems.catalogue import known
    from kernelgauge.runs import load
    from kernelgauge.training.from_runs import turns as of_run

    told: set[str] = set()

    def tell(sentence: str) -> None:
        if sentence not in told:
            typer.echo(f"kernelgauge: {sentence}", err=True)
        told.add(sentence)

    for path in paths:
        if path.suffix == ".parquet":
            yield from of_pairs((row for row in read(path) if split in (None, row.split)), str(path))
            continue
        run = load(path)
        tell_shortcomings([run])
        for turn in of_run(run, templates, tell):
            entry = known(turn.problem)
            if split is None or (entry is not None and entry.split == split):
                yield turn


def _tasks(paths: list[Path], split: str | None) -> Iterator[Record]:
    from kernelgauge.pairs.columns import read
    from kernelgauge.pairs.turns import tasks

    if others := [path for path in paths if path.suffix != ".parquet"]:
        raise UsageError(
            f"{others[0]} is no file of pairs: --format rl is for these; `kernelgauge problems dataset` writes the "
            "problems of a suite for a policy"
        )
    for path in paths:
        yield from tasks(row for row in read(path) if split in (None, row.split))

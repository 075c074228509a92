"""`kernelgauge forecast`: how fast will a kernel be, said before it has run, and how good is who says it?"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernelgauge.cli.notices import tell_shortcomings
from kernelgauge.cli.options import AsJson, parse_names
from kernelgauge.errors import UsageError

if TYPE_CHECKING:
    from kernelgauge.forecast.replay import Saved
    from kernelgauge.forecast.splits import Fold, SplitBy
    from kernelgauge.schema.forecast import Comparison, Forecast

app = typer.Typer(help="Forecasts of speed: data, scores, and the order of candidates.", no_args_is_help=True)

Data = Annotated[Path, typer.Argument(help="A data set that `forecast build` wrote.")]
Splits = Annotated[
    str, typer.Option("--split", help="What is unseen: problem, contestant, gpu, same-kernels; several by commas.")
]
Predictors = Annotated[
    str | None, typer.Option("--predictor", help="Such as length,trees, or module:name; default: all simple ones.")
]


@app.command("build")
def build(
    runs: Annotated[list[Path], typer.Argument(help="Run folders or logs of Inspect.")],
    out: Annotated[Path, typer.Option("--out", help="The file: a JSON object a line, packed if it ends in .xz.")],
    most_pairs: Annotated[
        int, typer.Option("--most-pairs", min=0, help="Pairs of candidates of one problem on one device.")
    ] = 20,
) -> None:
    """Make a data set from records: each kernel against its reference, and kernels of one problem in pairs."""
    from kernelgauge.forecast import dataset
    from kernelgauge.forecast.kernels import Kernel, References, kernels_of
    from kernelgauge.runs import load

    found, references = [load(run) for run in runs], References()
    tell_shortcomings(found)
    kernels: list[Kernel] = []
    without: dict[str, int] = {}
    for run in found:
        some, left = kernels_of(run, references)
        kernels += some
        for reason, count in left.items():
            without[reason] = without.get(reason, 0) + count
    for reason, count in without.items():
        typer.echo(f"kernelgauge: {count} records left out: {reason}", err=True)
    rows = dataset.rows_of(kernels, references, most_pairs)
    if not rows:
        raise UsageError("these runs hold nothing to forecast: no record of a candidate that counts is left")
    dataset.write(out, rows)
    typer.echo(f"{out}: {_counts(rows)}")


@app.command("score")
def score(
    data: Data,
    predictor: Predictors = None,
    split: Splits = "problem",
    forecasts: Annotated[
        list[Path] | None, typer.Option("--forecasts", help="Score a file that `forecast predict` wrote, too.")
    ] = None,
    partial: Annotated[
        bool, typer.Option("--partial", help="Score all on the rows alone that every such file answers.")
    ] = False,
    k: Annotated[int, typer.Option("--k", min=1, help="Candidates of a problem that are measured.")] = 1,
    lowest: Annotated[
        float, typer.Option("--abstain-below", min=0, max=1, help="Less sure forecasts count as abstentions.")
    ] = 0.0,
    as_json: AsJson = False,
) -> None:
    """Score predictors on rows not learnt from: bin error, Spearman, MAPE, Brier, CRPS, ECE, regret, abstentions."""
    from kernelgauge.forecast.score import score as scored
    from kernelgauge.forecast.text import render

    rows = _read(data)
    splits = _splits(split)
    answers = _answers(forecasts or (), rows, splits)
    if predictor is None and answers:
        names: list[str] = ["one", "frequencies"]
    else:
        names = _names(predictor)
    found = []
    for by in splits:
        parts = _folds(
            rows, by, set.intersection(*(set(a) for a in answers.values())) if partial and answers else None
        )
        for name in names:
            found.append(scored(name, by, parts, _foreseen(name, parts), k, lowest))
        for path, known in answers.items():
            found.append(scored(path.name, by, parts, known.values(), k, lowest))
    if as_json:
        _print_all([each.model_dump(mode="json") for each in found], "scores")
        return
    _show(render(found))


@app.command("predict")
def predict(
    data: Data,
    out: Annotated[
        Path, typer.Option("--out", help="The file of forecasts; of a model it goes on where it stopped.")
    ],
    predictor: Annotated[str | None, typer.Option("--predictor", help="A simple one, or module:name.")] = None,
    model: Annotated[str | None, typer.Option("--model", help="A language model that Inspect knows.")] = None,
    split: Splits = "problem",
    examples: Annotated[
        int, typer.Option("--examples", min=0, help="Rows not tested that a model is shown with their answers.")
    ] = 0,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Ask a model that many questions alone.")
    ] = None,
    connections: Annotated[int, typer.Option("--max-connections", min=1, help="Of a model, at once.")] = 10,
) -> None:
    """Write what a predictor, a Python function or a language model foresees, for `forecast score --forecasts`."""
    from kernelgauge.forecast import file

    if (predictor is None) == (model is None):
        raise UsageError("name one of --predictor and --model")
    chosen = _splits(split)
    if len(chosen) > 1:
        raise UsageError("forecasts are written for one split at a time: name one with --split")
    rows = _read(data)
    parts = _folds(rows, chosen[0])
    header = file.header_of(rows, chosen[0], predictor=predictor, model=model, examples=examples if model else 0)
    if model is not None:
        try:
            from kernelgauge.models.forecasting import ask_model
        except ImportError:
            raise UsageError("asking a model needs Inspect: pip install 'kernelgauge[inspect]'") from None
        said = ask_model(header, parts, out, limit=limit, connections=connections)
        typer.echo(f"{out}: {said.answered} forecasts, {said.abstained} abstentions, {said.asked} asked now")
        return
    found = _foreseen(str(predictor), parts)
    file.write(out, header, found)
    typer.echo(f"{out}: {len(found)} forecasts")


@app.command("replay")
def replay(
    data: Data,
    predictor: Predictors = None,
    split: Splits = "problem",
    as_json: AsJson = False,
) -> None:
    """Say how many evaluations a forecast saves up to an equal result, by the stored candidates of each problem."""
    from kernelgauge.forecast.text import render_saved

    rows = _read(data)
    found = [_replayed(rows, by, name) for by in _splits(split) for name in _names(predictor)]
    if not any(each.pools for each in found):
        raise UsageError(f"{data} holds no problem with several candidates judged alike: there is nothing to order")
    if as_json:
        _print_all([each.model_dump(mode="json") for each in found], "saved")
        return
    for by in dict.fromkeys(each.split for each in found):
        _show(render_saved([each for each in found if each.split == by]))


@app.command("order")
def order(
    data: Data,
    problem: Annotated[str, typer.Option("--problem", help="Problem that the candidates are for, such as 1/23.")],
    files: Annotated[list[Path], typer.Argument(help="Candidates that nobody has judged.")],
    gpu: Annotated[str | None, typer.Option("--gpu", help="Device by its own name; default: of most rows.")] = None,
    predictor: Annotated[str, typer.Option("--predictor", help="Who foresees.")] = "trees",
    as_json: AsJson = False,
) -> None:
    """Order candidates by what is foreseen of them, the most promising first, before a GPU sees one."""
    from kernelgauge.forecast.order import Order, ordered
    from kernelgauge.forecast.predictors.registry import predictor_named

    basis = Order(_read(data), predictor_named(predictor), gpu)
    found = ordered(basis, problem, files)
    if as_json:
        _print_all([{"file": str(path), **said.model_dump(mode="json")} for path, said in found], "order")
        return
    typer.echo(f"foreseen by {predictor} for {basis.gpu}; nothing was judged: `kernelgauge eval` does that", err=True)
    for path, said in found:
        right = "" if said.right is None else f"   right {said.right:.0%}"
        typer.echo(f"{2**said.octaves:6.2f}x{right}   {path}")


def _read(data: Path) -> list[Comparison]:
    from kernelgauge.forecast import dataset
    from kernelgauge.schema.forecast import Comparison

    return dataset.read(data, Comparison)


def _answers(
    paths: Iterable[Path], rows: Sequence[Comparison], splits: Sequence[SplitBy]
) -> dict[Path, dict[str, Forecast]]:
    """The forecasts of files, each of which must be of these rows and of each of these splits."""
    from kernelgauge.errors import StoreError
    from kernelgauge.forecast import file

    data, found = file.digest_of(rows), {}
    for path in paths:
        header, found[path] = file.read(path)
        if header is None:
            raise StoreError(f"{path} is missing or holds no forecasts")
        for by in splits:
            file.require_same(path, header, by, data)
    return found


def _names(given: str | None) -> list[str]:
    from kernelgauge.forecast.predictors.registry import BUILT_IN

    return parse_names(given) or list(BUILT_IN)


def _splits(given: str) -> list[SplitBy]:
    from kernelgauge.forecast.splits import SPLITS

    names = parse_names(given) or []
    if unknown := [name for name in names if name not in SPLITS]:
        raise UsageError(f"unknown split {unknown[0]!r}: there are {', '.join(SPLITS)}")
    return [each for each in SPLITS if each in names]


def _folds(rows: list[Comparison], by: SplitBy, only: set[str] | None = None) -> list[Fold]:
    from kernelgauge.forecast.splits import folds

    found = folds(rows, by)
    if only is None:
        return found
    kept = [fold._replace(test=[row for row in fold.test if row.id in only]) for fold in found]
    return [fold for fold in kept if fold.test]


def _foreseen(name: str, parts: list[Fold]) -> list[Forecast]:
    from kernelgauge.cli.progress import counting
    from kernelgauge.forecast.predictors.registry import predictor_named
    from kernelgauge.forecast.score import forecasts

    with counting(name, len(parts)) as done:
        return forecasts(predictor_named(name), parts, done)


def _replayed(rows: list[Comparison], by: SplitBy, name: str) -> Saved:
    from kernelgauge.forecast.replay import replay

    parts = _folds(rows, by)
    known = {each.id: each for each in _foreseen(name, parts)}
    return replay(name, by, [(row, known[row.id]) for row in rows if row.id in known])


def _counts(rows: list[Comparison]) -> str:
    """What a data set holds, in a sentence."""
    from kernelgauge.schema.forecast import TIE

    references = [row for row in rows if row.kind == "reference"]
    failed = sum(not row.passed for row in references)
    ties = sum(row.label == TIE for row in rows)
    gpus = ", ".join(sorted({row.gpu for row in rows}))
    return (
        f"{len(references)} kernels ({failed} of them not right) and {len(rows) - len(references)} pairs, "
        f"{ties} ties, of {len({row.problem for row in rows})} problems on {gpus}"
    )


def _print_all(found: list[dict[str, Any]], name: str) -> None:
    from kernelgauge.schema import FORMAT

    typer.echo(json.dumps({"format": FORMAT, name: found}))


def _show(what: Any) -> None:
    from rich.console import Console

    Console().print(what)

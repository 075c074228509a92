"""A language model as `kernelgauge ask` judges it: the task of Inspect, with friendlier words."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from pydantic import ValidationError
from rich.text import Text

from kernelgauge.cli.options import command_line
from kernelgauge.config import first_complaint
from kernelgauge.errors import MachineError, UsageError

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog

_KS = (1, 2, 5, 10, 20, 50, 100)
_MOST_IN_FLIGHT = 10_000
_MOST_ERRORS = 5
_REFUSED = {
    "temperature": "give --temperature instead",
    "max_connections": "give --max-connections instead",
    "cache": "give --cache instead",
    "extra_headers": "they may hold a key, and the command is kept in the run folder",
    "extra_body": "it may hold a key, and the command is kept in the run folder",
}


def judge_model(
    model: str,
    out: Path,
    *,
    arguments: Sequence[str],
    samples: int,
    connections: int | None,
    cached: bool,
    generate: Sequence[str],
    prices: str | None,
    task: dict[str, Any],
) -> None:
    """Ask a model for candidates and judge them, into a run folder with Inspect's log beside it.

    Args:
        generate: options of Inspect's `GenerateConfig`, as NAME=VALUE.
        task: arguments of `inspect.task.kernelbench`.

    Raises:
        UsageError: Inspect is not installed, or an argument is wrong.
        MachineError: some candidates could not be judged.
    """
    try:
        from inspect_ai import Epochs, eval
        from inspect_ai.model import GenerateConfig, get_model
    except ImportError:
        raise UsageError("asking a model needs Inspect: pip install 'kernelgauge[inspect]'") from None
    from kernelgauge.cli.progress import RunProgress
    from kernelgauge.models.asking.active import arguments_of, deciding
    from kernelgauge.models.budget.ledger import UNPRICED
    from kernelgauge.models.budget.prices import price_known, use_prices
    from kernelgauge.models.generation_context import GenerationContext
    from kernelgauge.models.judging.judge import judge_of
    from kernelgauge.models.setting import TaskSetting
    from kernelgauge.models.task.task import budget_of, kernelbench

    generating = _generating(generate)
    made = _rightly(kernelbench, **task, out=str(out))
    keys = [str(sample.id) for sample in made.dataset]
    judge = judge_of(TaskSetting.model_validate(made.dataset[0].metadata["setting"]))
    asked = _rightly(
        get_model, model, **_options(arguments, "--model-arg")
    )  # a wrong name or a missing key must not leave a folder
    judge.generation_context = GenerationContext(
        samples=samples,
        command=command_line(),
        options=deciding(GenerateConfig.model_validate(generating)),
        temperature=task.get("temperature"),
        model_args=arguments_of(asked),
    )
    if prices is not None:
        use_prices(prices, model)
    if said := _much_the_same(model, samples, str(task.get("strategy", "sample")), task.get("temperature")):
        typer.echo(f"kernelgauge: {said}", err=True)
    in_dollars = task.get("budget_usd") or budget_of(task.get("budget")).usd
    if in_dollars and not price_known(model):
        raise UsageError(UNPRICED)
    try:
        with RunProgress() as watch:
            judge.watch = watch
            judge.open(str(asked))
            missing = sum(judge.answered(key, number) is None for key in keys for number in range(samples))
            watch.begin(missing)
            logs = _rightly(
                eval,
                made,
                model=asked,
                epochs=Epochs(samples, ["mean", *(f"pass_at_{k}" for k in _KS if 1 < k <= samples)]),
                log_dir=str(out / "inspect"),
                log_level="error",
                display="none",
                max_samples=min(len(keys) * samples, _MOST_IN_FLIGHT),
                max_connections=connections,
                cache=cached,
                **generating,
            )
    finally:
        judge.close()
    _tell(logs[0] if logs else None, out, judge.ledger.exhausted)


def _much_the_same(model: str, samples: int, strategy: str, temperature: float | None) -> str:
    """What to say where one question is asked several times of a model that answers it alike; empty where not."""
    from kernelgauge.models.asking.agent import REACT
    from kernelgauge.search.registry import strategy_named

    if temperature != 0.0 or model.startswith("kernelgauge/"):  # ours give each sample its own answer
        return ""
    at_once = 1 if strategy == REACT else sum(step.asks == "candidate" for step in strategy_named(strategy).plan([]))
    if (count := samples * at_once) < 2:
        return ""
    alike = f"each question is asked {count} times at temperature 0"
    return f"{alike}, which gives nearly equal answers: try --temperature 0.8"


def _tell(log: EvalLog | None, out: Path, spent: bool) -> None:
    """The run's figures, what they cost, and what is missing; no log, or a cancelled one, means ctrl-C.

    Args:
        spent: whether the budget of the run is.
    """
    from kernelgauge.report.figures.scores import score_run
    from kernelgauge.report.terminal import show
    from kernelgauge.store.run import Run

    run = Run.read(out)
    if log is None or log.status == "cancelled":
        kept = f"{len(run.done())} records are kept in {out}"
        typer.echo(f"\nkernelgauge: {kept}; the same command goes on where this one stopped", err=True)
        raise KeyboardInterrupt
    show(score_run(run))
    if spent:
        left = f"{len(score_run(run).pending)} problems have no answer"
        typer.echo(f"the budget of the run is spent: {left}; the same command with a larger one goes on")
    typer.echo(f"records: {out}   report: kernelgauge report {out} --html report.html")
    typer.echo(f"answers: inspect view --log-dir {out / 'inspect'}")
    errors = [f"{sample.id}: {sample.error.message}" for sample in log.samples or [] if sample.error]
    if log.error:
        errors.insert(0, log.error.message)
    for error in errors[:_MOST_ERRORS]:
        typer.echo(f"kernelgauge: not judged: {error.splitlines()[0]}", err=True)
    if errors:
        raise MachineError(f"{len(errors)} samples were not judged; the same command tries them again")


def _rightly(call: Any, *arguments: Any, **options: Any) -> Any:
    """What the call gives. Wrong uses that Inspect complains of (a key is missing, a name unknown) become ours."""
    try:
        return call(*arguments, **options)
    except Exception as error:
        if isinstance(error.__cause__, UsageError):
            raise error.__cause__ from None
        if type(error).__name__ == "PrerequisiteError" or type(error) is ValueError:
            raise UsageError(Text.from_markup(str(error)).plain.strip()) from error
        raise


def _generating(given: Sequence[str]) -> dict[str, Any]:
    """Options of Inspect's for its calls of the model. Raises UsageError for one that it does not know."""
    from inspect_ai.model import GenerateConfig

    options = _options(given, "--generate")
    if wrong := next((name for name in options if name in _REFUSED), None):
        raise UsageError(f"--generate {wrong}: {_REFUSED[wrong]}")
    try:
        return GenerateConfig.model_validate(options).model_dump(mode="json", exclude_none=True)
    except ValidationError as error:
        raise UsageError(f"--generate: {first_complaint(error)}") from error


def _options(given: Sequence[str], flag: str) -> dict[str, Any]:
    """`["path=answers.jsonl", "stream=true"]` as values: JSON where it is that, else text. Raises UsageError."""
    found: dict[str, Any] = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not equals:
            raise UsageError(f"{flag} wants NAME=VALUE, not {each!r}")
        try:
            found[name.strip().replace("-", "_")] = json.loads(value)
        except ValueError:
            found[name.strip().replace("-", "_")] = value
    return found

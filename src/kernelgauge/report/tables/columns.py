"""The tables there are, column by column. docs/reference/tables.md repeats what each column means."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter
from typing import Any, NamedTuple

from kernelgauge.errors import UsageError
from kernelgauge.report.figures.answers import gather
from kernelgauge.report.figures.scores import THRESHOLDS, Group, score
from kernelgauge.report.figures.suite import tags_of
from kernelgauge.report.table import Column, Kind, Records, Table, Value, run_column
from kernelgauge.schema import BaselineSpeedup, Evaluation


class Part(NamedTuple):
    """One of several things that an evaluation holds."""

    evaluation: Evaluation
    position: int
    of: Any


def standing(run: Records) -> list[Evaluation]:
    """The evaluations that count: the last one of each problem and sample, in the order of problems."""
    return [e for answers in gather(run.evaluations()) for e in answers.evaluations]


def _over(field: Callable[[BaselineSpeedup], Value]) -> Callable[[Evaluation], Value]:
    return lambda e: field(best) if (best := e.speedup_over_strongest) else None


def _column(name: str, kind: Kind, about: str, path: str | Callable[[Any], Value] | None = None) -> Column:
    """A column that is an attribute of its item, such as `timing.speedup`; None where a step of the way is None."""
    if callable(path):
        return Column(name, kind, about, path)
    steps = [attrgetter(step) for step in (path or name).split(".")]

    def take(item: Any) -> Value:
        for step in steps:
            if item is None:
                return None
            item = step(item)
        return item  # type: ignore[no-any-return]

    return Column(name, kind, about, take)


_WHOSE = (
    run_column(),
    _column("problem", "text", "key of the problem, such as 1/23", "evaluation.problem"),
    _column("sample", "integer", "which answer of the contestant, from 0", "evaluation.sample"),
    _column("id", "text", "of the evaluation", "evaluation.id"),
)

EVALUATIONS = (
    run_column(),
    _column("contestant", "text", "who wrote the candidate"),
    _column("problem", "text", "key of the problem, such as 1/23"),
    _column("level", "integer", "level of the suite; missing for a file of one's own"),
    _column("name", "text", "name of the problem", "problem_name"),
    _column("tags", "texts", "kinds of the problem, as the suite has them", lambda e: tags_of(e.problem)),
    _column("sample", "integer", "which answer of the contestant, from 0"),
    _column("backend", "text", "kernel language"),
    _column("outcome", "text", "what happened: passed, wrong_value, build_failed, ...", "outcome.value"),
    _column("passed", "truth", "whether it is right"),
    _column("standing", "text", "faster, tie, slower or unclear, by the whole interval; missing where not timed"),
    _column("rule", "text", "the rule that a rejected candidate broke"),
    _column("reason", "text", "one sentence about a candidate that did not pass"),
    _column("scored", "truth", "whether the problem enters the score"),
    _column(
        "not_varied",
        "texts",
        "arguments of forward that were the same in every call",
        lambda e: e.not_varied.forward if e.not_varied else None,
    ),
    _column("speedup", "number", "reference time over candidate time"),
    _column("speedup_low", "number", "lower end of its interval", lambda e: e.timing and e.timing.interval[0]),
    _column("speedup_high", "number", "upper end of its interval", lambda e: e.timing and e.timing.interval[1]),
    _column("confidence", "number", "of the interval, such as 0.95", "timing.confidence"),
    _column("reference_ms", "number", "time of a call of the reference", "timing.reference_ms"),
    _column("candidate_ms", "number", "time of a call of the candidate", "timing.candidate_ms"),
    _column("samples", "integer", "timed pairs", lambda e: e.timing and len(e.timing.candidate_samples_ms)),
    _column("device_reference_ms", "number", "the same without launches", "timing.device_reference_ms"),
    _column("device_candidate_ms", "number", "the same without launches", "timing.device_candidate_ms"),
    _column("launch_bound", "truth", "whether launching took a good part of a call", "timing.launch_bound"),
    _column("strongest_mode", "text", "PyTorch's fastest mode here", _over(lambda best: best.mode)),
    _column("speedup_over_strongest", "number", "speedup over it", _over(lambda best: best.speedup)),
    _column(
        "speedup_over_strongest_low", "number", "lower end of its interval", _over(lambda best: best.interval[0])
    ),
    _column(
        "speedup_over_strongest_high", "number", "upper end of its interval", _over(lambda best: best.interval[1])
    ),
    _column("bound_ms", "number", "least time the hardware allows", "bound.bound_ms"),
    _column("bound_by", "text", "what binds: memory or arithmetic", "bound.binding"),
    _column("bound_share", "number", "bound over candidate time: 1 is all that is possible", "bound.share"),
    _column("headroom", "number", "reference time over bound", "bound.headroom"),
    _column("flops", "integer", "of products, convolutions, attention; missing without any", "bound.work.flops"),
    _column("bytes", "integer", "inputs, parameters and outputs, each once", "bound.work.bytes"),
    _column("intensity", "number", "FLOPs a byte", "bound.work.intensity"),
    _column("gpu_memory_gb", "number", "most of the GPU's memory in use at once", "gpu_memory.peak_gb"),
    _column("seconds", "number", "the evaluation itself took", lambda e: sum(e.seconds.values())),
    _column("elsewhere_correct", "truth", "whether others held it for right", "elsewhere.correct"),
    _column("elsewhere_speedup", "number", "what others measured", "elsewhere.speedup"),
    _column("elsewhere_hardware", "text", "where they did", "elsewhere.hardware"),
    _column("elsewhere_source", "text", "where candidate and verdict are from", "elsewhere.source"),
    _column("label", "text", "what people hold it for: honest, cheat, unknown", "elsewhere.label"),
    _column("first_call_s", "number", "seconds of the first call of a process, compiling and tuning included"),
    _column("protocol", "text", "name of the protocol"),
    _column("protocol_digest", "text", "figures are comparable where it agrees"),
    _column("math", "text", "arithmetic of both sides"),
    _column("kernel_policy", "text", "what counted as a kernel"),
    _column("sizes", "text", "which set of size constants"),
    _column("device", "text", "cpu or cuda"),
    _column("gpu", "text", "name of the GPU", "environment.gpu"),
    _column("cpu", "text", "name of the processor", "environment.cpu"),
    _column("torch", "text", "version of PyTorch", "environment.torch"),
    _column("environment", "text", "digest of machine and software", "environment.digest"),
    _column("problem_digest", "text", "of the problem's text"),
    _column("candidate_digest", "text", "of the candidate; names its text in `candidates`"),
    _column("created", "time", "when it was judged, UTC"),
    _column("id", "text", "of the evaluation"),
)

SAMPLES = (
    *_WHOSE,
    _column("side", "text", "reference or candidate", lambda part: part.of[0]),
    _column("position", "integer", "which pair, from 0"),
    _column("round", "integer", "which fresh pair of processes, from 0", lambda part: part.of[1]),
    _column("ms", "number", "time of the call", lambda part: part.of[2]),
)

TRIALS = (
    *_WHOSE,
    _column("position", "integer", "which checked call, from 0"),
    _column("variant", "text", "how its inputs were drawn", "of.variant"),
    _column("error", "number", "of the candidate, infinite where outputs cannot be compared", "of.error"),
    _column("allowed", "number", "the most that passes", "of.allowed"),
    _column("reference_error", "number", "the same error of eager PyTorch", "of.reference_error"),
    _column("worst", "number", "largest error of a single element", "of.worst"),
    _column("agreed", "truth", "whether it passed", "of.agreed"),
)

STAGES = (
    *_WHOSE,
    _column("stage", "text", "part of the evaluation", lambda part: part.of[0]),
    _column("seconds", "number", "it took", lambda part: part.of[1]),
)

MODES = (
    *_WHOSE,
    _column("mode", "text", "of PyTorch: eager, compile, ...", "of.mode"),
    _column("strongest", "truth", "whether it is the fastest", "of.strongest"),
    _column("speedup", "number", "mode's time over candidate time", "of.speedup"),
    _column("speedup_low", "number", "lower end of its interval", lambda part: part.of.interval[0]),
    _column("speedup_high", "number", "upper end of its interval", lambda part: part.of.interval[1]),
)

FINDINGS = (
    *_WHOSE,
    _column("rule", "text", "what it is about", "of.rule"),
    _column("severity", "text", "refuse or review", "of.severity"),
    _column("line", "integer", "in the candidate's file, from 1", "of.line"),
    _column("reason", "text", "what stands there", "of.reason"),
    _column("evidence", "text", "what was seen while it ran", "of.evidence"),
)

NO_CANDIDATES = (
    run_column(),
    _column("problem", "text", "key of the problem"),
    _column("level", "integer", "level of the suite"),
    _column("sample", "integer", "which answer is missing, from 0"),
    _column("contestant", "text", "who had no answer"),
    _column("reason", "text", "one sentence"),
    _column("created", "time", "when, UTC"),
)

TOO_LARGE = (
    run_column(),
    _column("problem", "text", "key of the problem"),
    _column("level", "integer", "level of the suite"),
    _column("needed_gb", "number", "GPU memory that it takes at the least"),
    _column("available_gb", "number", "what there was"),
    _column("reason", "text", "one sentence"),
)

ATTEMPTS = (
    run_column(),
    _column("problem", "text", "key of the problem"),
    _column("sample", "integer", "which answer of the contestant it belongs to, from 0"),
    _column("number", "integer", "its place among the attempts of that sample, from 0"),
    _column(
        "given", "text", "whose candidate it is, where nobody was asked for it", lambda r: r.attempt.given or None
    ),
    _column("asks", "text", "what was asked for: candidate or ideas", "attempt.step.asks"),
    _column("after", "integer", "the attempt that it goes on from", "attempt.step.after"),
    _column("feedback", "text", "what was said of that one: G, G+E, G+E+P", "attempt.step.feedback"),
    _column("refusal", "text", "why it was refused before any evaluation", lambda r: r.attempt.refusal or None),
    _column("outcome", "text", "what happened; missing where it was not judged", "attempt.evaluation.outcome.value"),
    _column("standing", "text", "faster, tie, slower or unclear", "attempt.evaluation.standing"),
    _column("speedup", "number", "reference time over candidate time", "attempt.evaluation.speedup"),
    _column(
        "candidate_digest", "text", "of its candidate, where it was judged", "attempt.evaluation.candidate_digest"
    ),
    _column("tokens_read", "integer", "by the contestant", "attempt.spent.tokens_read"),
    _column("tokens_written", "integer", "by the contestant, reasoning included", "attempt.spent.tokens_written"),
    _column("seconds", "number", "of contestant and evaluator", "attempt.spent.seconds"),
    _column("usd", "number", "dollars; missing where prices are not known", "attempt.spent.usd"),
    _column("created", "time", "when the answer came, or was judged, UTC"),
    _column("source", "text", "its candidate, refused or not; missing where the answer held none", "attempt.source"),
)

CANDIDATES = (
    run_column(),
    _column("candidate_digest", "text", "name of the text", "digest"),
    _column("backend", "text", "kernel language"),
    _column("source", "text", "the text"),
)

FAST_P = (
    run_column(),
    _column("contestant", "text", "who wrote the candidates"),
    _column("level", "text", "level, or `all`"),
    _column("p", "number", "threshold; 0 is correctness alone"),
    _column("problems", "integer", "that were judged and count"),
    _column("share", "number", "of them, right with the whole interval above p"),
    _column("share_low", "number", "lower end of its Wilson 95 % interval"),
    _column("share_high", "number", "upper end"),
    _column("share_point", "number", "the same share by the estimate alone"),
)


class _Threshold(NamedTuple):
    contestant: str
    level: str
    p: float
    problems: int
    share: float | None
    share_low: float
    share_high: float
    share_point: float | None


class _Text(NamedTuple):
    digest: str
    backend: str
    source: str | None


def _samples(e: Evaluation) -> Iterator[tuple[int, Any]]:
    if timing := e.timing:
        rounds = [number for number, size in enumerate(timing.rounds) for _ in range(size)]
        for side in ("reference", "candidate"):
            for position, ms in enumerate(getattr(timing, f"{side}_samples_ms")):
                yield position, (side, rounds[position] if position < len(rounds) else None, ms)


def _parts(of: Callable[[Evaluation], Iterable[tuple[int, Any]]]) -> Callable[[Records], Iterator[Part]]:
    return lambda run: (Part(e, position, each) for e in standing(run) for position, each in of(e))


def _sources(run: Records) -> Iterator[_Text]:
    found = {e.candidate_digest: e.backend for e in standing(run)}
    return (_Text(digest, backend, kept(run, digest)) for digest, backend in found.items())


def kept(run: Records, digest: str) -> str | None:
    """The text of a candidate; None if it was not kept."""
    from kernelgauge.errors import StoreError

    try:
        return run.source(digest)
    except StoreError:
        return None


def _thresholds(run: Records) -> Iterator[_Threshold]:
    scores = score(run.evaluations(), run.skips(), run.header, too_large=run.too_large())
    groups: dict[str, Group] = {**scores.levels, "all": scores.overall}
    for level, group in groups.items():
        for name, p in THRESHOLDS.items():
            ends, point = group.fast_p_interval[name], group.fast_p_point[name]
            share = group.fast_p[name]
            yield _Threshold(run.header.contestant, level, p, group.problems, share, *ends, point)


TABLES: dict[str, Table] = {
    table.name: table
    for table in (
        Table("evaluations", "one row for each candidate", EVALUATIONS, standing),
        Table("fast_p", "one row for each level and threshold", FAST_P, _thresholds),
        Table("samples", "one row for each timed call of either side", SAMPLES, _parts(_samples)),
        Table("trials", "one row for each checked call", TRIALS, _parts(lambda e: enumerate(e.trials))),
        Table(
            "stages",
            "one row for each stage of an evaluation",
            STAGES,
            _parts(lambda e: enumerate(e.seconds.items())),
        ),
        Table(
            "modes",
            "one row for each mode of PyTorch measured before",
            MODES,
            _parts(lambda e: enumerate(e.baseline_speedups)),
        ),
        Table("findings", "one row for each finding of a rule", FINDINGS, _parts(lambda e: enumerate(e.findings))),
        Table("no_candidates", "one row for each answer that did not come", NO_CANDIDATES, lambda run: run.skips()),
        Table("too_large", "one row for each problem that did not fit", TOO_LARGE, lambda run: run.too_large()),
        Table("attempts", "one row for each call to a contestant", ATTEMPTS, lambda run: run.attempts()),
        Table("candidates", "one row for each text that `evaluations` is about", CANDIDATES, _sources),
    )
}


def table_named(name: str) -> Table:
    """The table of that name. Raises UsageError with the names there are."""
    if name not in TABLES:
        raise UsageError(f"there is no table {name!r}; there are {', '.join(TABLES)}")
    return TABLES[name]

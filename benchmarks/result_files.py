"""From what a measurement left behind to the small JSON that is committed: header, figures, a row per problem.

A run folder is an A/A run (`aa.py`), baselines (`kernelgauge baseline`) or a contestant's run; a JSON file is what
`throughput.py` or `gpu_memory.py` wrote. Figures are those of `kernelgauge.report` and of these benchmarks; they are
stored, so that a page has only to show them. Times are milliseconds.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import aa
from numpy import quantile

from kernelgauge.errors import StoreError
from kernelgauge.generation.torch_modes import baseline
from kernelgauge.report.figures.baselines import Board, boards
from kernelgauge.report.figures.scores import Scores, score_run
from kernelgauge.report.runs import ComparedRun
from kernelgauge.report.table import Records
from kernelgauge.runs import load
from kernelgauge.schema import MODES, Baseline, Evaluation, finite

QUARTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
_REASON = 160
_FIGURES = {"overall", "levels", "against", "left_out", "too_large", "pending", "warnings"}
_ROW = (
    *("problem", "name", "sample", "backend", "outcome", "rule", "standing", "speedup", "reference_ms"),
    *("candidate_ms", "launch_bound", "bound_share", "bound_by", "headroom", "speedup_over_strongest"),
    *("speedup_over_strongest_interval", "strongest_baseline", "gpu_memory_peak_gb"),
)
_AA_ROW = (
    *("problem", "outcome", "standing", "speedup", "low", "high", "reference_ms", "device_reference_ms"),
    *("unreported_ms", "clock_uncertainty_ms", "launch_bound", "pairs"),
)
# Of a throughput measurement, all that its page shows.
_KERNEL = ("problem", "correct", "wall_seconds", "mean_ms", "outcome", "candidate_ms", "speedup")


def small(source: Path, as_aa: bool = False, baselines: Sequence[Baseline] = ()) -> dict[str, Any]:
    """The JSON of a run folder, or of the file of a benchmark.

    Args:
        as_aa: of baselines, only the mode eager: a second copy of the reference, which makes it an A/A run.
        baselines: what a contestant's records are compared with.

    Raises:
        StoreError: there is no run there, or nothing in it yet, or the file is none of a benchmark.
    """
    if source.is_file():
        return shortened(_benchmark(source))
    run = ComparedRun(load(source), baselines)
    records = run.latest()
    if as_aa:
        records = [record for record in records if MODES[record.sample] == "eager"]
    if not records:
        raise StoreError(f"{source} holds no evaluation yet")
    makers = {aa.Identical.name: _aa, "pytorch": _aa if as_aa else _baselines}
    made = makers.get(run.header.contestant, _contestant)(run, records)
    return shortened(_head(run, records) | made)


def as_text(content: dict[str, Any]) -> str:
    """What is committed: a line a row, so that differences between two measurements can be read."""
    rows = {"rows": []} | content
    head = {key: value for key, value in rows.items() if key != "rows"}
    lines = ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows["rows"])
    return json.dumps(head, indent=1)[:-2] + f',\n "rows": [\n{lines}\n]\n}}\n'


def shortened(value: Any) -> Any:
    """The same JSON with six significant digits, which is below the noise, and null for what is not finite."""
    if isinstance(value, dict):
        return {key: shortened(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [shortened(part) for part in value]
    return float(f"{value:.6g}") if isinstance(value, float) and finite(value) is not None else finite(value)


def _head(run: Records, records: Sequence[Evaluation]) -> dict[str, Any]:
    newest = max(records, key=lambda record: record.created)
    usual = Counter(record.environment.model_dump_json() for record in records).most_common(1)[0][0]
    header = run.header.model_dump(mode="json", exclude={"problems", "created", "format"})
    return {
        "header": header | {"problems": len(run.header.problems)},
        "environment": json.loads(usual),
        "date": run.header.created.isoformat(timespec="seconds"),
        "finished": newest.created.isoformat(timespec="seconds"),
        "isolation": list(newest.isolation),
        "seconds": sum(sum(record.seconds.values()) for record in records),
    }


def _contestant(run: Records, records: Sequence[Evaluation]) -> dict[str, Any]:
    scores = score_run(run)
    figures = scores.model_dump(mode="json", include=_FIGURES)
    left_out = {left.problem for left in scores.left_out}
    rows = [_row(each, each["problem"] not in left_out) for each in scores.problems]
    missing = [
        {"problem": skip.problem, "sample": skip.sample, "outcome": "no_candidate", "reason": skip.reason[:_REASON]}
        for skip in scores.no_candidates
    ]
    return {"kind": "contestant", "figures": figures | {"bound": _reach(scores)}, "rows": rows + missing}


def _row(summary: dict[str, Any], scored: bool) -> dict[str, Any]:
    row = {name: summary[name] for name in _ROW if summary[name] not in (None, "", False)}
    if summary["speedup_interval"]:
        row["low"], row["high"] = summary["speedup_interval"]
    if summary["reason"]:
        row["reason"] = summary["reason"][:_REASON]
    return row if scored else row | {"scored": False}


def _reach(scores: Scores) -> dict[str, Any]:
    """How much of what the hardware allows is reached: quantiles over the candidates that have a bound and count."""
    left_out = {left.problem for left in scores.left_out}
    bounded = [each for each in scores.problems if each["bound_share"] and each["problem"] not in left_out]
    return {
        "problems": len(bounded),
        "candidate": _quantiles([each["bound_share"] for each in bounded]),
        "reference": _quantiles([1 / each["headroom"] for each in bounded]),
        "peaks": sorted({each["bound_peaks"] for each in bounded}),
    }


def _aa(run: Records, records: Sequence[Evaluation]) -> dict[str, Any]:
    rows = [aa.row(record) for record in records]
    kept = [{name: each[name] for name in _AA_ROW if each.get(name) is not None} for each in rows]
    for each, full in zip(kept, rows, strict=True):
        each |= {"reason": full["reason"][:_REASON]} if full["reason"] else {}
    return {"kind": "aa", "figures": {"levels": aa.figures(rows), **_without_record(run)}, "rows": kept}


def _without_record(run: Records) -> dict[str, Any]:
    """Problems that were asked for: too large for the device, or not come to yet."""
    return score_run(run).model_dump(mode="json", include={"too_large", "pending"})


def _baselines(run: Records, records: Sequence[Evaluation]) -> dict[str, Any]:
    *others, board = boards(baseline(record) for record in records)
    if others:
        raise StoreError(f"{run.path} holds baselines of {len(others) + 1} settings: one result is about one")
    figures = {
        "means": {
            level: {name: mean.model_dump(mode="json") for name, mean in means.items()}
            for level, means in board.means.items()
        },
        "modes": {mode: _mode(board, mode) for mode in MODES if any(mode in row.modes for row in board.rows)},
        "strongest": dict(Counter(row.strongest for row in board.rows).most_common()),
        "total": _total(board),
        **_without_record(run),
    }
    return {"kind": "baselines", "figures": figures, "rows": [_board_row(row) for row in board.rows]}


def _mode(board: Board, mode: Any) -> dict[str, Any]:
    """How one mode's speedups over eager are distributed, and what became of it elsewhere."""
    there = [row.modes[mode] for row in board.rows if mode in row.modes]
    failed = Counter(each.outcome.value for each in there if each.measured is None)
    speedups = [each.measured.speedup for each in there if each.measured]
    return {"passed": len(speedups), "failed": dict(failed.most_common()), "speedup": _quantiles(speedups)}


def _total(board: Board) -> dict[str, Any]:
    """One call of every problem that eager has a time for, one after the other."""
    timed = [row for row in board.rows if row.eager_ms is not None]
    eager = sum(row.eager_ms for row in timed if row.eager_ms)
    strongest = sum(row.eager_ms / row.strongest_speedup for row in timed if row.eager_ms)
    return {"problems": len(timed), "eager_ms": eager, "strongest_ms": strongest}


def _board_row(row: Any) -> dict[str, Any]:
    modes = {mode: _measured(each) for mode, each in row.modes.items()}
    return {"problem": row.problem, "name": row.name, "eager_ms": row.eager_ms, "strongest": row.strongest} | modes


def _measured(each: Baseline) -> Any:
    """Speedup and interval; or in words what went wrong."""
    if each.measured is None:
        return f"{each.outcome.value}: {each.reason[:_REASON]}"
    return [each.measured.speedup, *each.measured.interval]


def _quantiles(values: Sequence[float]) -> list[float]:
    return [float(quantile(values, q)) for q in QUARTILES] if values else []


def _benchmark(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text())
    except ValueError as error:
        raise StoreError(f"{path} is no JSON: {error}") from error
    if "phases" in content:
        for phase in content["phases"].values():
            phase["rows"] = [{name: row.get(name) for name in _KERNEL if name in row} for row in phase["rows"]]
        return {"kind": "throughput", **content}
    if "capped" in content:
        return {"kind": "gpu_memory", **content}
    raise StoreError(f"{path} was written by neither throughput.py nor gpu_memory.py")

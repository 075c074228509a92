"""The data set of forecasts that ships, from every record of results/ that has an interval, and its scores.

    python -m benchmarks.forecast results/forecast [--runs FOLDER ...]

Writes `data.jsonl.xz`, `scores.json`, `saved.json` and `README.md`. `--runs` adds run folders of other machines, such
as the same kernels judged on another GPU. Records are: run folders of the archives of both cards under `strict`; the
honest kernels judged on an H100 and on an H200 (their texts are in benchmarks/honest_kernels); the contestant
`expert` on both; and the training steps on an H100 (`training_step.py` makes their texts again, and each must have
the digest that its record names).
"""

from __future__ import annotations

import argparse
import ast
import datetime
import json
import lzma
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import dropwhile
from pathlib import Path
from typing import Any

from kernelgauge.backends.registry import detect
from kernelgauge.errors import UsageError
from kernelgauge.expert.contestant import Expert
from kernelgauge.forecast import dataset
from kernelgauge.forecast.kernels import Kernel, References, kernels_of
from kernelgauge.forecast.predictors.registry import BUILT_IN, predictor_named
from kernelgauge.forecast.replay import Saved, replay
from kernelgauge.forecast.score import Score, forecasts, score
from kernelgauge.forecast.splits import SPLITS, folds, on_both, programs
from kernelgauge.problems.loader import load_problem
from kernelgauge.runs import load
from kernelgauge.schema import Candidate, Outcome, tells
from kernelgauge.schema.forecast import CLASSES, Comparison, Side

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "results"
RUNS = {
    "h200/runs.tar.xz": ("compile", "autotune", "rows_32", "aa"),
    "h200/runs_2.tar.xz": ("inductor_strict",),
    "h100/runs.tar.xz": ("inductor_strict",),
}
"""Of each archive: PyTorch's compiled modes, CUDA written by hand, the compiler's kernels; `aa` says how long
references take."""
HAND_WRITTEN = "folder:honest_kernels"
HONEST = {"h100/honest_kernels.json": "NVIDIA H100 80GB HBM3", "h200/honest_kernels.json": "NVIDIA H200"}
NOTES = (
    "**Mind** (2026-11-28). What is wrong, does not build, crashes or hangs was made from right kernels by "
    "`training_step.py`, but for seven of wrong precision: that a predictor knows it says little about the "
    "failures of models. The compiler's kernels and those of `expert` were timed on both GPUs, hand-written and "
    "broken ones mostly on the H100, PyTorch's modes on the H200 alone: the split `gpu` is in part one by "
    "contestant. The split `same-kernels` is not: its rows are programs that were timed on both.",
    "**What it shows.** On unseen problems by known contestants, and on an unseen GPU, texts tell something: "
    "`nearest` and the trees are better than always 1x in bin error, and their intervals do not meet. Of "
    "unseen contestants none is surely better in bin error; in CRPS `nearest` and the trees are lower. What "
    "was timed on one card tells much of the same program on the other: the trees and `nearest` name its "
    "class in 76 of 100 cases. Bytes and FLOPs over peaks say how far a kernel could get, not how far "
    "it gets: alone they are little better than the frequencies. An order by `length`, `nearest` or the trees "
    "saves 28 to 36 % of the evaluations, on an unseen GPU too. Whoever claims to foresee speed has to state "
    "the split.",
)
EXPERT = (
    "h100/expert_strict.json",
    "h200/expert_strict.json",
)
"""No problem is in two files of one GPU, and the text of none has changed since."""
ROUGH = 1.2
"""An interval whose ends are farther apart than this says more about its machine than about the kernel."""
STEPS = ("h100/training_step_strict.json.xz", "h100/training_step_quick.json.xz")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--predictors", default=",".join(BUILT_IN))
    parser.add_argument("--runs", type=Path, nargs="*", default=[])
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    references, left = References(), Counter[str]()
    kernels = [*stored(references, left), *honest(references, left), *expert(left), *steps(references, left)]
    for folder in given.runs:
        kernels += _of_run(folder, references, left)
    rows = dataset.rows_of(kernels, references)
    dataset.write(given.out / "data.jsonl.xz", rows)
    scores, saved = measured(rows, given.predictors.split(","))
    about = _about(rows, left)
    for name, found in (("scores", scores), ("saved", saved)):
        said = about | {"found": [each.model_dump(mode="json", exclude={"each"}) for each in found]}
        (given.out / f"{name}.json").write_text(json.dumps(said, indent=1) + "\n")
    (given.out / "README.md").write_text(page(about, scores, saved))


def stored(references: References, left: Counter[str]) -> Iterator[Kernel]:
    """The kernels of the run folders in the archives."""
    for file, names in RUNS.items():
        with tempfile.TemporaryDirectory() as folder:
            with tarfile.open(RESULTS / file) as archive:
                archive.extractall(folder, filter="data")
            within = Path(folder) / "runs"
            for name in names:
                yield from _of_run((within if within.exists() else Path(folder)) / name, references, left)


def _of_run(folder: Path, references: References, left: Counter[str]) -> list[Kernel]:
    found, without = kernels_of(load(folder), references)
    for reason, count in without.items():
        left[f"{folder.name}: {reason}"] += count
    return [_headless(kernel) if kernel.side.contestant == HAND_WRITTEN else kernel for kernel in found]


def _headless(kernel: Kernel) -> Kernel:
    source = _without_head(kernel.side.source)
    digest = Candidate(problem=kernel.problem, source=source, backend=kernel.side.backend).digest
    return replace(kernel, side=kernel.side.model_copy(update={"source": source, "digest": digest}))


def honest(references: References, left: Counter[str]) -> Iterator[Kernel]:
    """Those judged for `honest_kernels.json`: rows of speedup and interval, by the file of each candidate."""
    for file, gpu in HONEST.items():
        for row in json.loads((RESULTS / file).read_text())["rows"]:
            path = ROOT / "benchmarks" / "honest_kernels" / row["file"]
            if not path.exists():
                left[f"{file}: whose text has gone"] += 1
            elif not row["scored"]:
                left[f"{file}: of problems that do not count under their protocol"] += 1
            else:
                # Both name the rules of strict with one pair of processes, by other words.
                protocol = "strict" if row["protocol"] == "strict" else "strict-once"
                yield _kernel(row, _without_head(path.read_text()), HAND_WRITTEN, gpu, protocol, row.get("interval"))


def _without_head(source: str) -> str:
    """A text without its first comments: they say how fast it was meant to be, which is for the forecast to tell."""
    lines = source.splitlines(keepends=True)
    return "".join(dropwhile(lambda line: line.startswith("#"), lines))


def _without_note(source: str) -> str:
    """A text without its docstring: it says what was tried, and how much slower that was."""
    note = ast.parse(source).body[0]
    return "".join(source.splitlines(keepends=True)[note.end_lineno :]).lstrip()


def expert(left: Counter[str]) -> Iterator[Kernel]:
    """The same kernels on two GPUs: the rows of the contestant `expert`, and its texts of today."""
    contestant = Expert()
    found: dict[tuple[str, str], Kernel] = {}
    for file in EXPERT:
        judged = json.loads((RESULTS / file).read_text())
        for row in judged["rows"]:
            if not row.get("scored", True):
                left[f"{file}: of problems that do not count under their protocol"] += 1
            elif row["outcome"] == "passed" and not ("low" in row and row["high"] < ROUGH * row["low"]):
                left[f"{file}: timed too roughly"] += 1
            else:
                source = _without_note(contestant.complete(load_problem(row["problem"]), 0, "cuda").source)
                interval = [row["low"], row["high"]] if "low" in row else None
                untimed = dict.fromkeys(("speedup", "reference_ms", "candidate_ms"))
                gpu = judged["environment"]["gpu"]
                found[gpu, row["problem"]] = _kernel(untimed | row, source, "expert", gpu, "strict", interval)
    yield from found.values()


def steps(references: References, left: Counter[str]) -> Iterator[Kernel]:
    """Those of the training steps: what does not build, is wrong, crashes or hangs is among them."""
    from benchmarks.training_step import write

    for file in STEPS:
        with lzma.open(RESULTS / file) as packed:
            step = json.load(packed)
        with tempfile.TemporaryDirectory() as folder:
            write(ROOT / "benchmarks" / "cuda_candidates", Path(folder), len(step["problems"]), 8, step["seed"])
            texts = _by_digest(Path(folder))
        for row in step["phases"]["cold"]["rows"]:
            source = texts.get((row["problem"], row["candidate_digest"]))
            if source is None:
                left[f"{file}: whose text cannot be made again"] += 1
            elif not row["scored"]:
                left[f"{file}: of problems that do not count under their protocol"] += 1
            else:
                gpu = step["environment"]["gpu"]
                yield _kernel(row, source, "folder:step", gpu, row["protocol"], row["speedup_interval"])


def _by_digest(folder: Path) -> dict[tuple[str, str], str]:
    from kernelgauge.generation.folder import Folder

    answers = Folder(folder)
    found = {}
    for key in answers.problems():
        for sample in answers.samples(key):
            source = answers.file(key, sample).read_text()
            found[key, Candidate(problem=key, source=source, backend=detect(source)).digest] = source
    return found


def _kernel(
    row: dict[str, Any], source: str, contestant: str, gpu: str, protocol: str, interval: list[float] | None
) -> Kernel:
    problem = load_problem(row["problem"])
    backend = detect(source)
    candidate = Candidate(problem=problem.key, source=source, backend=backend)
    timed = interval is not None and row["speedup"] is not None and tells((interval[0], interval[1]))
    return Kernel(
        problem=problem.key,
        problem_name=problem.name,
        problem_digest=problem.digest,
        level=problem.level,
        sizes="full",
        math="ieee",
        protocol=protocol,
        gpu=gpu,
        side=Side(contestant=contestant, backend=backend, digest=candidate.digest, source=source),
        outcome=Outcome(row["outcome"]),
        speedup=row["speedup"] if timed else None,
        interval=(interval[0], interval[1]) if timed and interval else None,
        reference_ms=row["reference_ms"] if timed else None,
        candidate_ms=row["candidate_ms"] if timed else None,
    )


def measured(rows: list[Comparison], names: list[str]) -> tuple[list[Score], list[Saved]]:
    """Every predictor on every split, and what each would have saved."""
    scores, saved = [], []
    for by in SPLITS:
        try:
            parts = folds(rows, by)
        except UsageError as error:
            print(error, file=sys.stderr)
            continue
        tested = {row.id: row for fold in parts for row in fold.test}
        for name in names:
            found = forecasts(predictor_named(name), parts)
            scores.append(score(name, by, parts, found))
            said = {each.id: each for each in found}
            if by in ("problem", "gpu"):
                saved.append(replay(name, by, [(tested[row.id], said[row.id]) for row in rows if row.id in tested]))
            print(by, name, scores[-1].speed.bin_error, file=sys.stderr, flush=True)
    return scores, saved


def _about(rows: list[Comparison], left: Counter[str]) -> dict[str, Any]:
    by_class = Counter(row.label for row in rows if row.label is not None)
    return {
        "date": datetime.date.today().isoformat(),
        "command": " ".join(["python -m benchmarks.forecast", *sys.argv[1:]]),
        "rows": len(rows),
        "by_kind": Counter(row.kind for row in rows),
        "by_gpu": Counter(row.gpu for row in rows),
        "by_contestant": Counter(row.candidate.contestant for row in rows if row.kind == "reference"),
        "by_gpu_and_contestant": Counter(
            f"{row.gpu} {row.candidate.contestant}" for row in rows if row.kind == "reference"
        ),
        "by_outcome": Counter(row.outcome.value for row in rows if row.kind == "reference"),
        "by_class": {name: by_class[place] for place, name in enumerate(CLASSES)},
        "problems": len({row.problem for row in rows}),
        "timed_on_several_gpus": len({programs(row) for row in on_both(rows)}),
        "left_out": dict(left),
    }


def page(about: dict[str, Any], scores: list[Score], saved: list[Saved]) -> str:
    """The page that shows both files."""
    parts = [
        "# Measured: forecasts of speed",
        f"Written by `{about['command']}` on {about['date']} from the records of `h100/` and `h200/`. "
        "`data.jsonl.xz` is the data set, `scores.json` and `saved.json` hold all figures. What they mean is in "
        "[docs/how-to/forecast.md](../../docs/how-to/forecast.md).",
        f"{about['rows']} rows of {about['problems']} problems: {_list(about['by_kind'])}. By GPU: "
        f"{_list(about['by_gpu'])}. Kernels by contestant: {_list(about['by_contestant'])}; by outcome: "
        f"{_list(about['by_outcome'])}. Rows by class of the speedup: {_list(about['by_class'])}.",
        f"Left out: {_list(about['left_out'])}.",
        f"Pairs of programs that were timed on both GPUs: {about['timed_on_several_gpus']}.",
        "By GPU and contestant: " + _list(about["by_gpu_and_contestant"]) + ".",
        *NOTES,
    ]
    for split in dict.fromkeys(each.split for each in scores):
        parts += _of_split(split, [each for each in scores if each.split == split])
    parts += _of_saved(saved)
    return "\n\n".join(parts) + "\n"


def _of_split(split: str, scores: list[Score]) -> list[str]:
    first = scores[0]
    head = (
        "predictor | bin error | same bin | Spearman | MAPE % | Brier | CRPS | ECE | regret | found | "
        "right: Brier | AUROC"
    )
    lines = [f"| {head} |", "| --- |" + " ---: |" * head.count("|")]
    for each in scores:
        speed, choice, right = each.speed, each.choice, each.right
        low, high = speed.bin_error_interval or (0.0, 0.0)
        cells = [
            each.predictor,
            f"{_n(speed.bin_error)} ({low:.2f}–{high:.2f})",
            *(_n(value, digits) for value, digits in ((speed.accuracy, 2), (speed.spearman, 2), (speed.mape, 0))),
            *(_n(value, 3) for value in (speed.brier, speed.crps, speed.ece)),
            *(_n(value) for value in (choice.regret, choice.found)),
            *(_n(value, digits) for value, digits in ((right.brier, 3), (right.auroc, 2))),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    held = f"{len(first.folds)} folds" if split == "problem" else ", ".join(first.folds)
    return [
        f"## Split by {split}",
        f"Held out: {held}. {first.speed.rows} rows with a speedup, {first.speed.ties} of them ties; "
        f"{first.choice.pools} pools of several kernels; {first.right.rows} kernels against a reference, "
        f"{first.right.right} of them right.",
        "\n".join(lines),
    ]


def _of_saved(saved: list[Saved]) -> list[str]:
    parts = [
        "## Evaluations saved",
        "Replayed: the stored kernels of each problem on one GPU under one protocol, in the order of a forecast that "
        "has not learnt from them, until one is judged whose interval reaches that of the fastest. No search was "
        "run: a pool holds what several contestants had written, all of it at hand at once.",
    ]
    for split in dict.fromkeys(each.split for each in saved):
        here = [each for each in saved if each.split == split]
        lines = ["| predictor | evaluations | at random | as stored | saved over random |", "| --- |" + " ---: |" * 4]
        for each in here:
            lines.append(
                f"| {each.predictor} | {each.by_forecast:.1f} | {each.at_random:.1f} | {each.as_stored} | "
                f"{100 * (each.over_random or 0):.1f} % |"
            )
        parts += [f"Split by {split}: {here[0].candidates} kernels in {here[0].pools} pools.", "\n".join(lines)]
    return parts


def _list(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items()) or "none"


def _n(value: float | None, digits: int = 2) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


if __name__ == "__main__":
    main()

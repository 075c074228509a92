"""What `judge_load.py` asks about and what is due: a training step's texts, those that do harm first."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import training_step
from kernelgauge.generation.folder import Folder
from kernelgauge.training import load_reward
from kernelgauge.training.reward import Reward

Text = tuple[str, str, str]
"""Problem, text and kind of a candidate."""
Rows = Sequence[dict[str, Any]]

TAKES_ALL = "takes all memory"
HARMFUL = ("hangs", TAKES_ALL, "crashes")
"""What must cost its own slot alone: handed in first, so that the rest is judged beside and after it."""
DUE = {
    "does not build": {"build_failed", "load_failed"},
    "wrong": {"wrong_value"},
    "crashes": {"runtime_error"},
    "hangs": {"timed_out"},
    TAKES_ALL: {"out_of_memory"},
    "slow": {"passed"},
    "right": {"passed"},
}
"""The outcomes that a candidate of a kind may have."""
_HOARDS = "held = []\nwhile True:\n    held.append(inputs[0].new_ones(1 << 28))"


def asked_about(folder: Path, work: Path, problems: int, each: int, seed: int) -> list[Text]:
    """Every candidate of a step, with one of each harmful kind at least; these come first."""
    kinds = training_step.write(folder, work / "step", problems, each, seed)
    answers = Folder(work / "step")
    found = []
    for key in answers.problems():
        for sample in answers.samples(key):
            path = answers.file(key, sample)
            found.append((key, path.read_text(), kinds[path.relative_to(work / "step").as_posix()]))
    original = Folder(folder)
    key = found[0][0]
    right = original.file(key, original.samples(key)[0]).read_text()
    for kind in HARMFUL:
        if kind == TAKES_ALL:
            found.append((key, training_step.ended_by(right, _HOARDS), kind))
        elif all(kind != known for _, _, known in found):
            found.append((key, training_step.changed(right, kind, len(found)), kind))
    return sorted(found, key=lambda text: HARMFUL.index(text[2]) if text[2] in HARMFUL else len(HARMFUL))


def reward_for_all() -> Reward:
    """`interval`, with a verdict also on problems that do not count: on which those are, a device has its own say
    (1/14 accepts TF32 at published sizes on an H100), and this is about judging."""
    found = load_reward("interval")
    return found.model_copy(update={"name": "interval, weak problems too", "weak_problems": "counted"})


def summary(texts: Sequence[Text], rows: Rows, wall_s: float) -> dict[str, Any]:
    """What a trainer would want to know of these answers.

    Args:
        rows: with `held_s` and `ended_s`, None where there was no verdict; see `judge_load.ask`.
    """
    seconds = sorted(row["seconds"] for row in rows)
    return {
        "answers": len(rows),
        "wall_s": round(wall_s, 1),
        "verdicts_per_hour": round(3600 * sum(row["status"] == "verdict" for row in rows) / wall_s),
        "no_verdicts": sum(row["status"] != "verdict" for row in rows),
        "waited_p50_s": statistics.median(seconds) if seconds else None,
        "waited_p95_s": seconds[int(0.95 * (len(seconds) - 1))] if seconds else None,
        "not_as_due": [row for row in rows if row["outcome"] not in DUE[row["kind"]]],
        "kinds": {kind: _kind(kind, texts, rows) for kind in DUE if any(kind == each for _, _, each in texts)},
    }


def _kind(kind: str, texts: Sequence[Text], rows: Rows) -> dict[str, Any]:
    ours = [row for row in rows if row["kind"] == kind]
    judged = [row for row in ours if row["held_s"] is not None]
    return {
        "asked": sum(kind == each for _, _, each in texts),
        "answered": len(ours),
        "outcomes": dict(Counter(row["outcome"] or row["status"] for row in ours)),
        "held_s": [row["held_s"] for row in judged],
        "others_meanwhile": [_others(rows, kind, row["ended_s"] - row["held_s"], row["ended_s"]) for row in judged],
        "others_afterwards": [_others(rows, kind, row["ended_s"], float("inf")) for row in judged],
    }


def _others(rows: Rows, kind: str, after: float, until: float) -> int:
    """How many verdicts on other kinds came in that time."""
    ends = [row["ended_s"] for row in rows if row["kind"] != kind and row["ended_s"] is not None]
    return sum(after < each <= until for each in ends)

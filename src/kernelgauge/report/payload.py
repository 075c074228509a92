"""The data inside the HTML page: small rows that are read at once, large details read when opened."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from kernelgauge.report.answers import level_of
from kernelgauge.report.curves import curves
from kernelgauge.report.scores import Scores
from kernelgauge.schema import Evaluation, NoCandidate, Timing, finite

DRAWN = 400
"""Raw samples drawn per side; more would be one black bar. The numbers beside the plot use all of them."""

SourceOf = Callable[[str], str | None]
"""The source of a candidate by its digest; None if it was not kept."""


def embed(value: Any) -> Markup:
    """JSON that can stand inside a `<script>` element, whatever strings it holds.

    `</script>` and `<!--` act wherever they appear in a script element, so `<`, `>` and `&` are written as
    escapes, which JSON reads back as the same text. Numbers that are not finite become null.
    """
    text = json.dumps(finite(value), separators=(",", ":"), allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def embed_lines(values: Iterable[Any]) -> Markup:
    """One JSON value a line: the page parses only the line that it needs."""
    return Markup("\n").join(embed(value) for value in values)


def payload(
    scores: Scores, evaluations: Sequence[Evaluation], source_of: SourceOf, references: Mapping[str, str]
) -> dict[str, Markup]:
    """The data elements of the page by their id. Row i of `overview.rows` has line i of `details`.

    `evaluations` are those that stand, in the order of `scores.problems`; `references` is source by problem.
    """
    texts: dict[str, int] = {}
    places = {e: place for place, e in enumerate(dict.fromkeys(e.environment for e in evaluations))}
    details = [
        _detail(e)
        | {
            "environment": places[e.environment],
            "source": _place(texts, source_of(e.candidate_digest)),
            "original": _place(texts, references.get(e.problem)),
        }
        for e in evaluations
    ]
    left_out = {left.problem for left in scores.left_out}
    found = curves(evaluations, scores.no_candidates)
    overview = {
        "rows": [
            *(_row(e, e.problem not in left_out) for e in evaluations),
            *map(_missing, scores.no_candidates),
        ],
        "curves": {name: [(_short(p), _short(y)) for p, y in curve] for name, curve in found.items()},
        "environments": [environment.model_dump() for environment in places],
    }
    return {"overview": embed(overview), "details": embed_lines(details), "texts": embed_lines(texts)}


def _row(evaluation: Evaluation, counts: bool) -> dict[str, Any]:
    row: dict[str, Any] = {
        "problem": evaluation.problem,
        "name": evaluation.problem_name,
        "level": level_of(evaluation),
        "sample": evaluation.sample,
        "backend": evaluation.backend,
        "outcome": evaluation.outcome.value,
        "reason": evaluation.reason,
        "rule": evaluation.rule,
        "counts": counts,
    }
    if timing := evaluation.timing:
        row |= {
            "standing": evaluation.standing,
            "speedup": _short(timing.speedup),
            "low": _short(timing.interval[0]),
            "high": _short(timing.interval[1]),
            "reference": _short(timing.reference_ms),
            "candidate": _short(timing.candidate_ms),
        }
    return row


def _missing(skip: NoCandidate) -> dict[str, Any]:
    return {
        "problem": skip.problem,
        "name": "",
        "level": level_of(skip),
        "sample": skip.sample,
        "backend": "",
        "outcome": "no_candidate",
        "reason": skip.reason,
        "counts": True,
    }


def _detail(evaluation: Evaluation) -> dict[str, Any]:
    fields = {"rules", "rule", "route", "isolation", "notes", "trivial", "log", "seconds", "id", "device"}
    return evaluation.model_dump(include=fields) | {
        "findings": [finding.model_dump() for finding in evaluation.findings],
        "protocol": f"{evaluation.protocol} ({evaluation.protocol_digest})",
        "digest": evaluation.candidate_digest,
        "contestant": evaluation.contestant,
        "created": evaluation.created.isoformat(sep=" ", timespec="seconds"),
        "trials": [trial.model_dump() for trial in evaluation.trials],
        "timing": _timing(evaluation.timing) if evaluation.timing else None,
        "memory": evaluation.gpu_memory.line if evaluation.gpu_memory else "",
    }


def _timing(timing: Timing) -> dict[str, Any]:
    return {
        "clock": timing.clock,
        "confidence": timing.confidence,
        "overhead": _short(timing.overhead_ms),
        "stopped": timing.stopped,
        "counts": [len(timing.reference_samples_ms), len(timing.candidate_samples_ms)],
        "reference": _thinned(timing.reference_samples_ms),
        "candidate": _thinned(timing.candidate_samples_ms),
    }


def _thinned(samples: Sequence[float]) -> list[float]:
    """At most `DRAWN` samples, evenly spaced in their order, so that drift still shows."""
    step = max(1.0, len(samples) / DRAWN)
    return [_short(samples[int(i * step)]) for i in range(min(len(samples), DRAWN))]


def _place(texts: dict[str, int], text: str | None) -> int | None:
    """A source that many records share is embedded once."""
    return None if text is None else texts.setdefault(text, len(texts))


def _short(value: float) -> float:
    """Six significant digits: below the noise of every clock, and half the bytes."""
    return float(f"{value:.6g}")

"""The data inside the HTML page: small rows that are read at once, large details read when opened."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from math import isclose
from statistics import median
from typing import Any

from markupsafe import Markup

from kernelgauge.profiling.profile_text import render
from kernelgauge.report.figures.answers import level_of
from kernelgauge.report.figures.curves import curves
from kernelgauge.report.figures.scores import Scores
from kernelgauge.report.figures.suite import tags_of
from kernelgauge.report.figures.unanswered import Unanswered, unanswered
from kernelgauge.report.page.profiles import Key
from kernelgauge.report.page.size_budget import WHOLLY, Fit, SourceOf
from kernelgauge.report.page.truncate import DETAILS, Limits, cut, shortened
from kernelgauge.schema import AttemptRecord, Evaluation, Profile, Timing, finite
from kernelgauge.schema.rules import Finding
from kernelgauge.store.run import Answer

DRAWN = 400
"""Raw samples drawn per side; more would be one black bar. The numbers beside the plot use all of them."""
DRAWN_IN_ALL = 600_000
FEWEST = 60
"""In a run of thousands, fewer are drawn of each candidate: all together about `DRAWN_IN_ALL`."""


def embed(value: Any) -> Markup:
    """JSON that can stand inside a `<script>` element, whatever strings it holds.

    `</script>` and `<!--` act wherever they appear in a script element, so `<`, `>` and `&` are written as
    escapes, which JSON reads back as the same text. Numbers that are not finite become null.
    """
    try:
        text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    except ValueError:  # an infinity, which few records hold: looking for it in all of them takes longer
        text = json.dumps(finite(value), separators=(",", ":"), allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def embed_lines(values: Iterable[Any]) -> Markup:
    """One JSON value a line: the page parses only the line that it needs."""
    return Markup("\n").join(embed(value) for value in values)


def payload(
    scores: Scores,
    evaluations: Sequence[Evaluation],
    source_of: SourceOf,
    references: Mapping[str, str],
    profiles: Mapping[Key, Profile] | None = None,
    attempts: Mapping[Answer, Sequence[AttemptRecord]] | None = None,
    fit: Fit = WHOLLY,
    limits: Limits = DETAILS[0],
) -> dict[str, Markup]:
    """The data elements of the page by their id. Row i of `overview.rows` has line i of `details`.

    `evaluations` are those that stand, in the order of `scores.problems`; `references` is source by problem;
    `attempts` is what led to the answer of a problem and sample, or to none; `fit` and `limits` say how much of
    long texts is shown.
    """
    texts: dict[str, int] = {}
    places = {e: place for place, e in enumerate(dict.fromkeys(e.environment for e in evaluations))}
    drawn = max(FEWEST, min(DRAWN, DRAWN_IN_ALL // (2 * len(evaluations) or 1)))
    seen = profiles or {}
    tried = attempts or {}
    open_ = unanswered(scores, {(e.problem, e.sample) for e in evaluations}, _each(tried))
    details = [
        _detail(e, drawn, fit, limits)
        | {
            "environment": places[e.environment],
            "source": _place(texts, fit.candidate(e.candidate_digest, source_of(e.candidate_digest))),
            "original": _place(texts, fit.reference(e.problem, references.get(e.problem))),
            "history": [_tried(each, texts, fit, limits) for each in tried.get((e.problem, e.sample), ())],
            "profiles": [
                render(seen[e.problem, digest])
                for digest in (e.candidate_digest, None)
                if (e.problem, digest) in seen
            ],
        }
        for e in evaluations
    ]
    details += [
        {
            "contestant": each.contestant,
            "reason": cut(each.reason, limits.reason, fit.at("no_candidates.jsonl")),
            "source": None,
            "original": _place(texts, fit.reference(each.problem, references.get(each.problem))),
            "history": [_tried(record, texts, fit, limits) for record in tried.get((each.problem, each.sample), ())],
        }
        for each in open_
    ]
    left_out = {left.problem for left in scores.left_out}
    found = curves(evaluations, scores.no_candidates)
    overview = {
        "rows": [
            *(_row(e, e.problem not in left_out) for e in evaluations),
            *map(_missing, open_),
        ],
        "curves": {name: [(_short(p), _short(y)) for p, y in curve] for name, curve in found.items()},
        "tags": {
            problem: tags for problem in dict.fromkeys(e.problem for e in evaluations) if (tags := tags_of(problem))
        },
        "ridge": _ridge(evaluations),
        "environments": [environment.model_dump() for environment in places],
    }
    return {"overview": embed(overview), "details": embed_lines(details), "texts": embed_lines(texts)}


def _ridge(evaluations: Sequence[Evaluation]) -> float | None:
    """FLOPs a byte at which both parts of the bound take as long, as the median over problems that have both."""
    works = {e.problem: e.bound for e in evaluations if e.bound and e.bound.bytes_ms and e.bound.flops_ms}
    found = [b.work.intensity * b.bytes_ms / b.flops_ms for b in works.values() if b.work.intensity]
    return _short(median(found)) if found else None


def _row(evaluation: Evaluation, scored: bool) -> dict[str, Any]:
    row: dict[str, Any] = {
        "problem": evaluation.problem,
        "name": evaluation.problem_name,
        "level": level_of(evaluation),
        "sample": evaluation.sample,
        "backend": evaluation.backend,
        "outcome": evaluation.outcome.value,
        "reason": shortened(evaluation.reason),
        "rule": evaluation.rule,
        "scored": scored,
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
    if bound := evaluation.bound:
        intensity = bound.work.intensity
        row |= {
            "share": _short(bound.share),
            "headroom": _short(bound.headroom),
            "intensity": intensity and _short(intensity),
            "binding": bound.binding,
        }
    return row


def _missing(each: Unanswered) -> dict[str, Any]:
    return each.model_dump(exclude={"contestant"}) | {"backend": "", "reason": shortened(each.reason)}


def _each(attempts: Mapping[Answer, Sequence[AttemptRecord]]) -> Iterable[Answer]:
    """The sample of every attempt, once for each."""
    return (answer for answer, records in attempts.items() for _ in records)


def _detail(evaluation: Evaluation, drawn: int, fit: Fit, limits: Limits) -> dict[str, Any]:
    fields = {
        "kernel_policy",
        "rule",
        "weight_sync",
        "isolation",
        "trivial_answers",
        "seconds",
        "id",
        "device",
        "bound",
    }
    where = f"{fit.at('evaluations.jsonl')}, record {evaluation.id}"
    notes = (*evaluation.notes, *_more_findings(evaluation, limits, where))
    return evaluation.model_dump(include=fields) | {
        "reason": cut(evaluation.reason, limits.reason, where),
        "notes": [cut(note, limits.reason, where) for note in notes],
        "findings": [_found(finding, limits, where) for finding in evaluation.findings[: limits.findings]],
        "protocol": f"{evaluation.protocol} ({evaluation.protocol_digest})",
        "digest": evaluation.candidate_digest,
        "contestant": evaluation.contestant,
        "created": evaluation.created.isoformat(sep=" ", timespec="seconds"),
        "trials": [trial.model_dump() for trial in evaluation.trials],
        "timing": _timing(evaluation.timing, drawn) if evaluation.timing else None,
        "baseline_speedups": [
            each.model_dump(include={"mode", "strongest", "speedup", "interval"})
            for each in evaluation.baseline_speedups
        ],
        # Its end is where compilers say what went wrong.
        "log": cut(evaluation.log, limits.log, where, head=0),
        "elsewhere": evaluation.elsewhere.line if evaluation.elsewhere else "",
        "not_varied": evaluation.not_varied.line if evaluation.not_varied else "",
        "memory": evaluation.gpu_memory.line if evaluation.gpu_memory else "",
    }


def _found(finding: Finding, limits: Limits, where: str) -> dict[str, Any]:
    return finding.model_dump() | {
        name: cut(getattr(finding, name), limits.reason, where) for name in ("reason", "excerpt", "evidence")
    }


def _more_findings(evaluation: Evaluation, limits: Limits, where: str) -> list[str]:
    more = len(evaluation.findings) - limits.findings
    return [f"{more} more findings are in {where}"] if more > 0 else []


def _tried(record: AttemptRecord, texts: dict[str, int], fit: Fit, limits: Limits) -> dict[str, Any]:
    """One call to the contestant on the way to an answer."""
    attempt, evaluation = record.attempt, record.attempt.evaluation
    judged = evaluation.standing or evaluation.outcome.value if evaluation else None
    why = evaluation.reason if evaluation else attempt.refusal or " ".join(attempt.ideas)
    said = "ideas" if attempt.step.asks == "ideas" else "refused" if attempt.refusal else "not_judged"
    found: dict[str, Any] = {
        "number": record.number,
        "given": attempt.given,
        "after": attempt.step.after,
        "feedback": attempt.step.feedback if attempt.step.after is not None else "",
        "state": judged or said,
        "reason": cut(why, limits.reason, fit.at("attempts.jsonl")),
        "source": _place(texts, fit.attempt(record)),
        "digest": evaluation.candidate_digest if evaluation else None,
        "tokens": attempt.spent.tokens,
        "usd": attempt.spent.usd,
    }
    if evaluation and evaluation.timing:
        low, high = evaluation.timing.interval
        speeds = {"speedup": evaluation.timing.speedup, "low": low, "high": high}
        found |= {name: _short(value) for name, value in speeds.items()} | {"standing": evaluation.standing}
    return found


def _timing(timing: Timing, drawn: int) -> dict[str, Any]:
    return {
        "clock": timing.clock,
        "confidence": timing.confidence,
        "overhead": _short(timing.overhead_ms),
        "stopped": timing.stopped,
        "paired": not isclose(timing.speedup * timing.candidate_ms, timing.reference_ms),
        "facts": timing.facts,
        "counts": [len(timing.reference_samples_ms), len(timing.candidate_samples_ms)],
        "reference": _thinned(timing.reference_samples_ms, drawn),
        "candidate": _thinned(timing.candidate_samples_ms, drawn),
    }


def _thinned(samples: Sequence[float], drawn: int) -> list[float]:
    """At most `drawn` samples, evenly spaced in their order, so that drift still shows; four digits are a pixel."""
    step = max(1.0, len(samples) / drawn)
    return [float(f"{samples[int(i * step)]:.4g}") for i in range(min(len(samples), drawn))]


def _place(texts: dict[str, int], text: str | None) -> int | None:
    """A source that many records share is embedded once."""
    return None if text is None else texts.setdefault(text, len(texts))


def _short(value: float) -> float:
    """Six significant digits: below the noise of every clock, and half the bytes."""
    return float(f"{value:.6g}")

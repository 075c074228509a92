"""Candidates that nobody has judged, in the order of a forecast."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from kernelgauge.backends.registry import detect
from kernelgauge.errors import UsageError
from kernelgauge.forecast.predictors.predictor import Predictor
from kernelgauge.forecast.replay import promise
from kernelgauge.generation.folder import read_source
from kernelgauge.problems.loader import load_problem, sizes_within
from kernelgauge.schema import Candidate, digest
from kernelgauge.schema.forecast import Comparison, Forecast, Question, Side

UNKNOWN = "unknown"
"""Who wrote a file, as far as it says."""


def ordered(
    rows: Sequence[Comparison], predictor: Predictor, problem: str, files: Sequence[Path], gpu: str | None = None
) -> list[tuple[Path, Forecast]]:
    """These files, the most promising first, each with what is foreseen of it against the problem's reference.

    Args:
        rows: to learn from.
        gpu: the device that will judge, by its own name; None: that of most rows.

    Raises:
        UsageError: no row is of that device.
        ProblemError, CandidateError: the problem or a file cannot be read.
    """
    where = gpu or Counter(row.gpu for row in rows).most_common(1)[0][0]
    like = [row for row in rows if row.gpu == where]
    if not like:
        raise UsageError(f"the data set has no row of {where!r}: it has {', '.join(sorted({r.gpu for r in rows}))}")
    predictor.fit(rows)
    questions = [_question(like, problem, path) for path in files]
    told = zip(files, predictor.predict(questions), strict=True)
    return sorted(told, key=lambda each: -promise(each[1]))


def _question(like: Sequence[Comparison], problem: str, path: Path) -> Question:
    """The question about a file; what rows of the same problem know of it, such as its bound, is known here too."""
    example = next((row for row in like if row.problem == problem and row.kind == "reference"), None)
    sizes = example.sizes if example else like[0].sizes
    found = load_problem(problem, sizes=sizes_within(problem, sizes))
    source = read_source(path)
    candidate = Candidate(problem=found.key, source=source, backend=detect(source), contestant=UNKNOWN)
    known = example if example and example.problem_digest == found.digest else None
    return Question(
        id=digest(f"{found.key}|{path.as_posix()}|{candidate.digest}"),
        kind="reference",
        problem=found.key,
        problem_name=found.name,
        problem_digest=found.digest,
        level=found.level,
        sizes=found.sizes,
        math=like[0].math,
        protocol=like[0].protocol,
        gpu=like[0].gpu,
        anchor=Side(contestant="reference", backend="torch", digest=found.digest, source=found.source),
        candidate=Side(
            contestant=UNKNOWN, backend=candidate.backend, digest=candidate.digest, source=candidate.source
        ),
        anchor_ms=known.anchor_ms if known else None,
        work=known.work if known else None,
        bound_ms=known.bound_ms if known else None,
    )

"""The data card of a set of pairs: what is in it, how it was made, what was refused, from its own records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median

from jinja2 import Environment, PackageLoader, StrictUndefined

from kernelgauge.pairs.row import PAIRS_FORMAT, Row
from kernelgauge.pairs.workshop import Workshop
from kernelgauge.store.disk import write_whole

_MOST_REASONS = 12


def write(workshop: Workshop, rows: Sequence[Row], path: Path) -> None:
    """Write the card of these rows. Raises StoreError."""
    template = Environment(
        loader=PackageLoader("kernelgauge.pairs"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    ).get_template("card.md.j2")
    positive = [row for row in rows if row.kind == "positive"]
    told = [row.speedup for row in positive if row.speedup is not None and row.standing != "unclear"]
    refused = [each.refused for each in workshop.modules.values() if each.refused]
    dropped = [each.dropped for each in workshop.judged.values() if each.row is None]
    write_whole(
        path,
        template.render(
            asked=workshop.asked,
            format=PAIRS_FORMAT,
            rows=rows,
            licences=sorted({row.licence.lower() for row in rows}),
            modules=len({row.module for row in rows}),
            examined=len(workshop.modules),
            positive=len(positive),
            negative=len(rows) - len(positive),
            told=len(told),
            median_speedup=median(told) if told else None,
            nearest=min((row.distance for row in rows), default=0.0),
            tables={
                "source": _counts(row.source for row in rows),
                "backend": _counts(row.backend for row in rows),
                "sizes": _counts(row.sizes for row in rows),
                "arithmetic": _counts(row.math for row in rows),
                "split": _counts(row.split for row in rows),
                "licence": _counts(row.licence for row in rows),
                "made by": _counts(row.how for row in rows),
                "outcome": _counts(row.rule or row.outcome.value for row in rows),
                "standing": _counts(row.standing or "not timed" for row in rows),
                "hardware": _counts(row.hardware for row in rows),
                "PyTorch": _counts(row.environment.torch for row in rows),
            },
            refused=_counts(map(_kind_of_reason, refused))[:_MOST_REASONS],
            dropped=_counts(map(_kind_of_reason, dropped))[:_MOST_REASONS],
        ).encode(),
    )


def _counts(values: Iterable[str]) -> list[tuple[str, int]]:
    return Counter(values).most_common()


_KINDS = {
    "another module has the same": "a duplicate by its normalised syntax tree",
    "nearer than": "too near a problem of the built-in suite",
    "computed and never used": "a branch that leads nowhere",
    "never initialised": "uninitialised parameters",
    "no output depends on it": "parameters that reach no output",
    "would accept": "answers without the work would pass: constant, zero or below tolerance",
    "does not count": "answers without the work would pass at these sizes",
    "right all the same": "a fault that changes nothing",
    "too near the limit": "too near the limit to have the same verdict each time",
    "judged twice": "a verdict that did not repeat itself",
    "not slower": "no slower than eager",
    "not finite": "outputs that are not finite",
    "another result": "no repeatable output",
    "two calls on the same inputs": "no repeatable output",
    "no inputs": "no inputs were found that it runs on",
    "imports": "needs what is not there",
}


def _kind_of_reason(reason: str) -> str:
    return next((kind for words, kind in _KINDS.items() if words in reason), "other: " + reason.splitlines()[0][:80])

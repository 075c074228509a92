"""What `problems verify --record` found out about the built-in suite: fingerprints and weaknesses as data."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from kernelgauge.config import NARROW, Protocol, load_protocol
from kernelgauge.schema import ParameterDraws, Problem, Record

PATH = Path(__file__).parent / "facts" / "verified.json"
PRECISIONS = ("tf32", "bfloat16")
"""Cut corners that are a low precision."""
_STRICT = "strict"


class Verified(Record):
    """One problem, as it was when somebody last recorded it on purpose."""

    trivial_answers: dict[str, tuple[str, ...]]
    """By protocol: answers without the work that it would accept, in some draw, at `small` or `medium`."""
    shortcuts: dict[str, tuple[str, ...]]
    """By protocol: low precision and ignored parameters that it would accept."""
    idle: tuple[str, ...]
    """Parameters without any effect on the output."""
    fingerprints: dict[str, dict[str, tuple[float, float]]]
    """By size: of inputs, parameters and output under seed 0, with which another text of the problem must agree."""
    digest: str
    """Of the text at full size: it guards against a silent change."""
    parameters: ParameterDraws = ParameterDraws()
    """How they were drawn where a protocol draws them at random."""
    protocols: dict[str, str]
    """Of what decides which answers are right, in the protocols above."""

    def accepted(self) -> dict[str, tuple[str, ...]]:
        """By protocol: everything that it would accept instead of the work."""
        return {name: (*found, *self.shortcuts.get(name, ())) for name, found in self.trivial_answers.items()}


def with_earlier(now: Verified, earlier: Verified | None) -> Verified:
    """What was found now, and what was found earlier of the same text under the same protocol: draws differ."""
    if earlier is None or (earlier.digest, earlier.parameters) != (now.digest, now.parameters):
        return now

    def both(new: dict[str, tuple[str, ...]], old: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        same = {name for name in new if now.protocols[name] == earlier.protocols.get(name)}
        return {n: tuple(dict.fromkeys([*found, *(old.get(n, ()) if n in same else ())])) for n, found in new.items()}

    trivial_answers, shortcuts = (
        both(now.trivial_answers, earlier.trivial_answers),
        both(now.shortcuts, earlier.shortcuts),
    )
    return now.model_copy(update={"trivial_answers": trivial_answers, "shortcuts": shortcuts})


def verified(key: str) -> Verified | None:
    """What was recorded about a problem of the built-in suite; None if nothing was."""
    return _all().get(key)


def accepted_on_record(problem: Problem, protocol: Protocol) -> tuple[str, ...]:
    """What this protocol is on record to accept instead of the work; nothing where it leaves no weak problem out.

    A protocol without a record of its own that asks no more than `strict` is taken to accept what that does.
    """
    if protocol.score.weak_problems != "excluded":
        return ()
    name = protocol.name if protocol.name in problem.shortcuts or not _asks_no_more(protocol) else _STRICT
    recorded = problem.shortcuts.get(name, ())
    if protocol.tolerance.math in NARROW:  # that record was made without TF32, which is no cut corner there
        return tuple(name for name in recorded if name not in PRECISIONS)
    return recorded


def _asks_no_more(protocol: Protocol) -> bool:
    """Whether all that `strict` accepts is accepted: fewer kinds of inputs, judged alike."""
    strict = load_protocol(_STRICT).under(math=protocol.tolerance.math)
    judged = (protocol.parameters, protocol.tolerance) == (strict.parameters, strict.tolerance)
    return judged and set(protocol.inputs.variants) <= set(strict.inputs.variants)


@cache
def _all() -> dict[str, Verified]:
    if not PATH.is_file():
        return {}
    content = json.loads(PATH.read_text(encoding="utf-8"))
    return {key: Verified.model_validate(row) for key, row in content.items()}


def record(found: dict[str, Verified]) -> None:
    """Write these problems' rows, keep those of the others. Raises OSError where the package cannot be written."""
    kept = json.loads(PATH.read_text(encoding="utf-8")) if PATH.is_file() else {}
    rows = kept | {key: row.model_dump(mode="json", exclude_defaults=True) for key, row in found.items()}
    ordered = sorted(rows, key=lambda key: tuple(map(int, key.split("/"))))
    lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(rows[key])}" for key in ordered)
    PATH.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
    _all.cache_clear()

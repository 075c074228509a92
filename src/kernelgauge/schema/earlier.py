"""What format 1 called the fields of records and the keys of protocols; only here do the earlier names stand.

A record is renamed when it is read, see `store.codec`. The digest of a protocol is of its rules and not of what they
are called: it is taken under the names of format 1, so that records from before stay comparable.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernelgauge.schema.attempt import Attempt, AttemptRecord
from kernelgauge.schema.base import Record
from kernelgauge.schema.evaluation import Evaluation
from kernelgauge.schema.run import NoCandidate, RunHeader
from kernelgauge.schema.timing import Timing

_FIELDS: dict[type[Record], dict[str, str]] = {
    Timing: {
        "late_work_ms": "post_call_ms",
        "excess_ms": "unreported_ms",
        "unnoticed_ms": "clock_uncertainty_ms",
        "streak": "batch_calls",
        "withheld_ms": "underreported_ms",
        "streak_speedup": "batched_speedup",
    },
    Evaluation: {
        "rules": "kernel_policy",
        "ran": "executed",
        "route": "weight_sync",
        "trivial": "trivial_answers",
        "counts": "scored",
        "over": "baseline_speedups",
    },
    NoCandidate: {"counts": "scored"},
    RunHeader: {"rules": "kernel_policy"},
}
_WITHIN: dict[type[Record], dict[str, type[Record]]] = {
    AttemptRecord: {"attempt": Attempt},
    Attempt: {"evaluation": Evaluation},
    Evaluation: {"timing": Timing},
}

PROTOCOL = {"agreement": "tolerance", "rules": "kernel_policy"}
"""Keys at the top of a protocol."""
TIMING = {"doubt": "recheck_band", "processes_in_doubt": "recheck_processes"}
"""Keys of its tables `timing` and `gpu_timing`."""


def to_format_2(data: dict[str, Any], kind: type[Record]) -> dict[str, Any]:
    """The JSON object of a record of format 1 under the names of format 2; one that has them already stays."""
    found = _renamed(data, _FIELDS.get(kind, {}))
    for field, inner in _WITHIN.get(kind, {}).items():
        if isinstance(found.get(field), dict):
            found[field] = to_format_2(found[field], inner)
    return found | {"format": 2} if "format" in kind.model_fields else found


def protocol_renamed(data: Mapping[str, Any]) -> dict[str, Any]:
    """A stored protocol of any format under today's names."""
    return _with_timing(_renamed(data, PROTOCOL), TIMING)


def protocol_as_first_named(data: Mapping[str, Any]) -> dict[str, Any]:
    """A protocol under the names of format 1, in the same order."""
    return _with_timing(_renamed(data, _reversed(PROTOCOL)), _reversed(TIMING))


def setting_renamed(data: Mapping[str, Any]) -> dict[str, Any]:
    """How a task is judged, as Inspect's log says it, under today's names."""
    return _renamed(data, {"rules": "kernel_policy"})


def earlier_keys(data: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Keys of a protocol's file that have another name today, each with that name."""
    tables = [table for name in ("timing", "gpu_timing") if isinstance(table := data.get(name), Mapping)]
    found = [(old, new) for old, new in PROTOCOL.items() if old in data]
    return found + [(old, new) for old, new in TIMING.items() if any(old in table for table in tables)]


def _with_timing(data: dict[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    tables = {name: data[name] for name in ("timing", "gpu_timing") if isinstance(data.get(name), Mapping)}
    return data | {name: _renamed(table, names) for name, table in tables.items()}


def _renamed(data: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {names.get(key, key): value for key, value in data.items()}


def _reversed(names: Mapping[str, str]) -> dict[str, str]:
    return {new: old for old, new in names.items()}

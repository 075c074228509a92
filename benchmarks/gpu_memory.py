"""What the problems with the largest inputs take of a GPU's memory, and what becomes of them on a smaller card.

    python benchmarks/gpu_memory.py [--count 6] [--cap 24] [--near 4] [--protocol strict] [--problems 1/23,2/4]
                                    [--out results/h200/gpu_memory.json]

The candidate is a copy of the reference (as in `aa.py`), checked and timed at full sizes. First the problem with the
largest inputs and those that need the most by their shapes, with all the memory that there is; then the same ones
under the cap, and beside them those that come closest to the cap without exceeding it. Prints a line per evaluation.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aa import Identical

from kernelgauge import __version__
from kernelgauge.checks.memory import Call, in_gb, least
from kernelgauge.config import Limits, load_protocol
from kernelgauge.errors import MachineError, ReferenceTooLarge
from kernelgauge.problems.catalogue import entry, select
from kernelgauge.problems.facts import facts
from kernelgauge.problems.loader import load_problem
from kernelgauge.session.session import Session

WIDTH = {"float32": 4, "int64": 8, "int32": 4, "bool": 1}


def recorded(key: str) -> Call:
    """The tensors of one call at full sizes by the recorded facts: no process needs to be asked."""
    known = facts(entry(key).level, entry(key).number)
    assert known is not None, f"{key} is no problem of levels 1 to 3"
    inputs = sum(int(math.prod(each["shape"])) * WIDTH[each["dtype"]] for each in known.inputs if "shape" in each)
    parameters = {name: WIDTH["float32"] * math.prod(shape) for name, shape in known.state.items()}
    described = {"inputs": known.inputs, "output": known.output, "state": known.state}
    return Call.of({**described, "bytes": {"inputs": inputs, "parameters": parameters}})


def chosen(options: argparse.Namespace) -> tuple[list[str], list[str]]:
    """The problems to judge with all the memory, and those that come close to the cap."""
    calls = {key: recorded(key) for key in select([1, 2, 3])}
    precise = load_protocol(options.protocol).tolerance.rule == "oracle"
    needs = {key: in_gb(least(call, precise).whole) for key, call in calls.items()}
    keys = sorted(calls, key=lambda key: -needs[key])
    close = [key for key in keys if needs[key] <= options.cap][: options.near]
    if options.problems:
        return options.problems.split(","), close
    widest = max(keys, key=lambda key: calls[key].inputs)
    return list(dict.fromkeys([widest, *keys[: options.count]])), close


def judged(session: Session, key: str, protocol: str) -> dict[str, Any]:
    """One problem against a copy of itself: what became of it, and what it took."""
    problem = load_problem(key)
    source = Identical().complete(problem, 0, "cuda").source
    needed = session.memory.needed(problem, load_protocol(protocol), session.environment)
    row: dict[str, Any] = {
        "problem": key,
        "name": problem.name,
        "needed_gb": None if needed is None else in_gb(needed),
    }
    started = time.monotonic()
    try:
        record = session.evaluate(problem, source, backend="torch", device="cuda", protocol=protocol)
    except (ReferenceTooLarge, MachineError) as error:
        outcome = "too_large" if isinstance(error, ReferenceTooLarge) else "machine_error"
        row |= {"outcome": outcome, "reason": str(error), "speedup": None, "gpu_memory": None}
    else:
        memory = record.gpu_memory.model_dump() if record.gpu_memory else None
        row |= {"outcome": record.outcome.value, "reason": record.reason, "speedup": record.speedup}
        row |= {"gpu_memory": memory}
    row["seconds"] = round(time.monotonic() - started, 2)
    memory, says = row["gpu_memory"], row["reason"]
    took = f"peak {memory['peak_gb']:.1f}, regions {memory['regions_gb']:.1f}" if memory else ""
    print(f"{key:6} {row['outcome']:14} needs {row['needed_gb']} GB {took} | {row['seconds']} s {says}", flush=True)
    return row


def main() -> None:
    """Measure, print, store."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", help="instead of those with the largest inputs and outputs")
    parser.add_argument("--count", type=int, default=6)
    parser.add_argument("--near", type=int, default=4)
    parser.add_argument("--cap", type=float, default=24.0)
    parser.add_argument("--protocol", default="strict")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    largest, close = chosen(options)
    content: dict[str, Any] = {
        "command": " ".join(["python", *sys.argv]),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "kernelgauge": __version__,
        "protocol": options.protocol,
        "cap_gb": options.cap,
    }
    with Session() as session:
        content["environment"] = session.environment.model_dump()
        print("all the memory there is")
        content["whole"] = [judged(session, key, options.protocol) for key in largest]
    with Session(limits=Limits(gpu_memory_gb=options.cap)) as session:
        print(f"as on a card of {options.cap:g} GB")
        content["capped"] = [judged(session, key, options.protocol) for key in [*largest, *close]]
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(content, indent=1))


if __name__ == "__main__":
    main()

"""What the defences cost: where an evaluation's time goes, and which share would be saved by trusting candidates.

    python benchmarks/defences.py [--problems 1/23,2/39] [--sizes medium] [--device cpu] [--out results/cpu/defences]
    python benchmarks/defences.py --device cuda --sizes full --out results/h200/defences
    python benchmarks/defences.py --device cuda --sizes full --candidates benchmarks/cuda_candidates --out ...

Each problem's reference is judged against a copy of itself, or with `--candidates` against the folder's first
answer to it: once to build and to fill the caches, and then `--repeats` times. A stopwatch stands at every step of
the parent's; a step inside another is counted there only. What a trusting evaluator would spend too (build, one
process, calls, comparing checked outputs) is kept apart. The price of the processes of reference and oracle is the
time to open both sides less the time to open the candidate's alone. Where eager and the float64 oracle answer side by
side, what that costs eager's call counts as the call.

Builds go into a cache that was empty, so the first evaluation says what the candidate's own costs; the share of the
defences is told with and without it. That a build runs in a sealed process is a defence too, but counts as build:
it is not separated here (`benchmarks/sealing.py` says what the isolation layers cost). What is learnt once for a
problem or a machine is in neither share.

What is measured goes into `--out` after every problem. With the same `--out`, candidates, device, sizes, protocol
and repeats, a further command goes on with the problems that are not there yet. A candidate that does not pass is
left out.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from datetime import date
from pathlib import Path
from typing import Any

from defences_page import page
from defences_steps import NotPassed, copy_of, kinds, measured

from kernelgauge.config import load_protocol
from kernelgauge.errors import MachineError, ReferenceTooLarge
from kernelgauge.generation.folder import Folder
from kernelgauge.problems.loader import load_problem
from kernelgauge.schema import Candidate, NoCandidate, Problem
from kernelgauge.session.session import Session
from kernelgauge.store.disk import write_whole

PROBLEMS = "1/19,1/23,1/36,1/47,1/88,2/1,2/14,2/39,2/76,2/99,3/8,3/43"
ASKED = ("candidates", "device", "sizes", "protocol", "repeats", "environment")
"""What must be the same for a measurement to go on."""


def chosen(problems: str | None, folder: Folder | None) -> list[str]:
    """The problems asked for; without a word, those of PROBLEMS that the folder answers, or else all it answers."""
    if folder is None:
        return (problems or PROBLEMS).split(",")
    answered = folder.problems()
    if problems is None:
        return [key for key in PROBLEMS.split(",") if key in answered] or answered
    keys = problems.split(",")
    if unanswered := [key for key in keys if key not in answered]:
        raise SystemExit(f"{folder.path} has no candidate for {', '.join(unanswered)}")
    return keys


def candidate_for(problem: Problem, folder: Folder | None, device: str) -> Candidate:
    """A copy of the reference, or the folder's first answer to the problem."""
    if folder is None:
        return copy_of(problem)
    found = folder.complete(problem, folder.samples(problem.key)[0], device)
    if isinstance(found, NoCandidate):
        raise SystemExit(f"{problem.key}: {found.reason}")
    return found


def begun(options: argparse.Namespace, environment: dict[str, Any]) -> dict[str, Any]:
    """What an earlier command has measured of the same question, or a new file's head."""
    asked = {name: getattr(options, name) for name in ASKED if name != "environment"} | {"environment": environment}
    asked["candidates"] = str(options.candidates) if options.candidates else None
    content = {"commands": [], "date": str(date.today()), **asked, "rows": {}, "left_out": {}}
    if options.out and (file := options.out.with_suffix(".json")).exists():
        content = json.loads(file.read_text())
        for name in ASKED:
            if name not in content or content[name] != asked[name]:
                raise SystemExit(f"{file} holds a measurement with another {name}: name another --out")
    command = re.sub(r" --out \S+", "", " ".join(["python", "benchmarks/defences.py", *sys.argv[1:]]))
    content["commands"] = list(dict.fromkeys([*content["commands"], command]))
    return content


def measure(options: argparse.Namespace, session: Session, content: dict[str, Any], key: str) -> None:
    """Add one problem to the content: its row, or why it has none; what has one is measured further."""
    problem = load_problem(key, options.sizes)
    candidate = candidate_for(problem, options.folder, options.device)
    protocol = load_protocol(options.protocol)
    content["left_out"].pop(key, None)
    try:
        row = measured(session, problem, candidate, protocol, options.device, options.repeats)
    except NotPassed as error:
        if options.folder is None:
            raise SystemExit(f"{key}: a copy of the reference did not pass: {error}") from error
        content["left_out"][key] = error.record.outcome.value
        print(f"{key}: left out, for it did not pass: {error}", file=sys.stderr, flush=True)
    except (ReferenceTooLarge, MachineError) as error:
        content["left_out"][key] = "too large" if isinstance(error, ReferenceTooLarge) else "the machine failed"
        print(f"{key}: left out: {error}", file=sys.stderr, flush=True)
    else:
        content["rows"][key] = row
        print(f"{key}: {row['total']:.2f} s, built in {row['build']:.2f} s", file=sys.stderr, flush=True)


def store(content: dict[str, Any], out: Path) -> None:
    """Write the rows and the page that shows them."""
    out.parent.mkdir(parents=True, exist_ok=True)
    write_whole(out.with_suffix(".md"), page(content, kinds()).encode())
    write_whole(out.with_suffix(".json"), json.dumps(content).encode())


def main() -> None:
    """Measure, store after every problem, and print the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--candidates", type=Path, metavar="FOLDER", help="judge these, not copies of the references")
    parser.add_argument(
        "--problems", help=f"default: {PROBLEMS}, or those of them that FOLDER answers, or all it does"
    )
    parser.add_argument("--sizes", default="medium")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--protocol", default="strict")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--out", type=Path, help="without a suffix: .md and .json are written")
    options = parser.parse_args()
    options.folder = Folder(options.candidates) if options.candidates else None
    keys = chosen(options.problems, options.folder)
    with tempfile.TemporaryDirectory() as builds, Session(builds=Path(builds)) as session:
        content = begun(options, session.environment.model_dump(mode="json"))
        for key in keys:
            if key not in content["rows"]:
                measure(options, session, content, key)
                if options.out:
                    store(content, options.out)
    print(page(content, kinds()))


if __name__ == "__main__":
    main()

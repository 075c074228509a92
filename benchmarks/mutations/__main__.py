"""How many faulty candidates does the evaluator accept, and how many right ones does it refuse?

    python -m benchmarks.mutations faults --level 1,2,3 --out runs/mutations
    python -m benchmarks.mutations compiled --out runs/mutations
    python -m benchmarks.mutations honest --level 1,2,3 --out runs/mutations
    python -m benchmarks.mutations page runs/mutations results/cpu/mutations

`faults` changes PyTorch text, `compiled` C++ kernels on a CPU and CUDA kernels with `--device cuda`. Every command
goes on where it was stopped. `page` writes the figures as Markdown and JSON.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from kernelgauge.errors import KernelgaugeError
from kernelgauge.problems.catalogue import select
from kernelgauge.problems.loader import load_problem
from kernelgauge.schema import NoCandidate, Sizes
from kernelgauge.schema.base import digest
from kernelgauge.session.session import Session

from . import compiled, page
from .judging import PROTOCOLS, judged
from .ledger import Ledger
from .mutants import Changed, honest, mutants
from .processes import Text, examine
from .witness import MutantResult

FAULTY: tuple[tuple[Sizes, str], ...] = (
    ("small", "lowered"),
    ("odd", "rewritten 0"),
    ("small", "rewritten 1"),
)
HONEST: tuple[tuple[Sizes, str], ...] = tuple(
    (sizes, style) for sizes in ("small", "odd") for style in ("lowered", "rewritten 0", "rewritten 1", "rewritten 2")
)
# Whole networks of level 3: a forward by own algorithms takes seconds, and there are enough smaller ones.
LARGE = {f"3/{number}" for number in (5, 7, 9, 10, 11, 12, 15, 16, 18, 19, 20, 22, 23, 24, 26, 29, 30, 45)}
COMPILED_SIZES: tuple[Sizes, ...] = ("small", "odd")


class Judging:
    """One command under way: a session, ledgers of faulty and of right candidates, and the counts so far."""

    def __init__(self, session: Session, ledger: Ledger, right: Ledger, options: argparse.Namespace):
        self.session = session
        self.ledger = ledger
        self.right = right
        self.options = options
        file = getattr(options, "again", None)
        self.again = page.refused(file, "wrong_precision") if file else set[str]()
        """Starts of ids: of faults in PyTorch text, the only ones to be judged; empty: all."""
        self.counts: Counter[str] = Counter()

    def faults(self, key: str) -> None:
        """Change the candidates of one problem, look for witnesses, and judge the faults under both protocols."""
        for sizes, style in FAULTY:
            problem = load_problem(key, sizes)
            made = mutants(problem, style, self.options.each, self.options.most)
            new = [each for each in made if each.id not in self.ledger and self._asked_for(each)]
            for changed, finding in zip(new, examine(problem, [Text(each.text) for each in new]), strict=True):
                self._judge_fault(changed, finding)

    def _asked_for(self, changed: Changed) -> bool:
        return not self.again or changed.id[: page.ID_LENGTH] in self.again

    def compiled(self, key: str) -> None:
        """The same for candidates with compiled kernels, after the right one itself was judged."""
        device = self.options.device
        for sizes in COMPILED_SIZES:
            problem = load_problem(key, sizes)
            right = compiled.right_candidate(key, sizes, device, self.options.out / "inductor")
            if isinstance(right, NoCandidate):
                self.counts["no candidate"] += 1
                continue
            unchanged = Changed(problem, right.contestant, "", "", right.source, right.backend)
            made = compiled.mutants(problem, right, self.options.each, self.options.most)
            new = [each for each in made if each.id not in self.ledger]
            if (not new and self._knows(unchanged)) or not self._right_is_right(unchanged):
                continue
            for changed in new:
                text = compiled.built(self.session, changed, device)
                finding = MutantResult("stillborn", detail="does not compile")
                if text is not None:
                    (finding,) = examine(problem, [text], device)
                self._judge_fault(changed, finding)

    def _knows(self, right: Changed) -> bool:
        return all(_honest_id(right, repeat) in self.right for repeat in range(self.options.repeats))

    def _right_is_right(self, right: Changed) -> bool:
        """Whether there are faults to look for in a candidate: not where it is refused itself, which is recorded."""
        text = compiled.built(self.session, right, self.options.device)
        if text is None:
            return False
        (finding,) = examine(right.problem, [text], self.options.device)
        for repeat in range(self.options.repeats):
            self._judge_honest(right, finding, repeat)
        return finding.verdict == "equivalent"

    def _judge_fault(self, changed: Changed, finding: MutantResult) -> None:
        row = _described(changed) | asdict(finding)
        if finding.verdict == "witnessed":
            row |= {protocol: self._judge(changed, protocol) for protocol in PROTOCOLS}
            if row["strict"]["outcome"] == "passed":
                row["text"] = changed.text
                self.counts["accepted"] += 1
        self.counts[finding.verdict] += 1
        self.ledger.add(row)

    def _judge_honest(self, right: Changed, finding: MutantResult, repeat: int) -> None:
        if _honest_id(right, repeat) in self.right:
            return
        row = _described(right) | asdict(finding) | {"id": _honest_id(right, repeat), "repeat": repeat}
        row["strict"] = self._judge(right, "strict")
        self.counts[f"honest {row['strict']['outcome']}"] += 1
        self.right.add(row)

    def honest(self, key: str) -> None:
        """Judge right candidates of one problem in every style; each must be right in float64, too."""
        for sizes, style in HONEST:
            problem = load_problem(key, sizes)
            right = Changed(problem, style, "", "", honest(problem, style))
            if self._knows(right):
                continue
            (finding,) = examine(problem, [Text(right.text)])
            for repeat in range(self.options.repeats):
                self._judge_honest(right, finding, repeat)

    def _judge(self, changed: Changed, protocol: str) -> dict[str, Any]:
        device = self.options.device
        return judged(self.session, changed.problem, changed.text, protocol, device, changed.backend)

    def all(self, work: Callable[[str], None], keys: Sequence[str]) -> None:
        """Do the work for every problem, `--jobs` at a time, and say how it goes."""
        started = time.monotonic()
        with ThreadPoolExecutor(self.options.jobs) as pool:
            mixed = random.Random(0).sample(keys, len(keys))  # what is done when it is stopped is a fair sample
            under_way = {pool.submit(work, key): key for key in mixed}
            try:
                for done, future in enumerate(as_completed(under_way), 1):
                    self._take(future, under_way[future])
                    said = ", ".join(f"{name} {count}" for name, count in sorted(self.counts.items()))
                    minutes = (time.monotonic() - started) / 60
                    key = under_way[future]
                    print(f"{done} of {len(keys)} problems, {minutes:.1f} min, {key}: {said}", flush=True)
            except KeyboardInterrupt:
                pool.shutdown(cancel_futures=True)  # what is under way is still finished
                raise SystemExit(130) from None

    @staticmethod
    def _take(done: Future[None], key: str) -> None:
        try:
            done.result()
        except KernelgaugeError as error:
            print(f"{key}: {error}", file=sys.stderr)


def _honest_id(right: Changed, repeat: int) -> str:
    return digest(f"{right.problem.digest} {right.style} {repeat}")


def _described(changed: Changed) -> dict[str, Any]:
    return {
        "id": changed.id,
        "problem": changed.problem.key,
        "level": changed.problem.level,
        "sizes": changed.problem.sizes,
        "backend": changed.backend,
        "style": changed.style,
        "operator": changed.operator,
        "what": changed.what,
    }


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutations", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("faults", "compiled", "honest"):
        command = commands.add_parser(name)
        command.add_argument("--problems")
        if name != "compiled":
            command.add_argument("--level", default="1,2,3")
        command.add_argument("--device", default="cpu")
        command.add_argument("--out", type=Path, required=True)
        command.add_argument("--jobs", type=int, default=1)
        if name != "honest":
            command.add_argument("--each", type=int, default=1, help="places per operator and candidate")
            command.add_argument("--most", type=int, default=5, help="faults per candidate")
        if name == "faults":
            command.add_argument("--again", type=Path, help="only what was wrong_precision in this file of `page`")
        if name != "faults":
            command.add_argument("--repeats", type=int, default=1, help="evaluations of every right candidate")
    shown = commands.add_parser("page")
    shown.add_argument("run", type=Path)
    shown.add_argument("to", type=Path)
    return parser.parse_args()


def main() -> None:
    """Run one command."""
    options = _options()
    if options.command == "page":
        page.write(options.run, options.to)
        return
    named = options.problems.split(",") if options.problems else None
    if options.command == "compiled":
        keys = named or compiled.problems(options.device)
    else:
        levels = None if named else [int(level) for level in options.level.split(",")]
        keys = [key for key in select(levels, named) if named or key not in LARGE]
    torch.set_num_threads(1)
    faulty, right = (Ledger(options.out / f"{name}.jsonl") for name in ("faults", "honest"))
    # Nothing is timed: one thread for each evaluation, the other cores for `--jobs`.
    with Session(threads=1) as session:
        page.note(options.out, sys.argv, session.environment)
        judging = Judging(session, faulty, right, options)
        judging.all(getattr(judging, options.command), keys)


if __name__ == "__main__":
    main()

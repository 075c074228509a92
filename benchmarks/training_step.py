"""The candidates that a training step asks about: eight answers to each of eight problems, most of them broken.

    python benchmarks/training_step.py runs/step [--candidates benchmarks/cuda_candidates] [--problems 8] [--each 8]

Right candidates of a folder are changed into ones that do not build, are wrong, crash, hang or are slow, in the
shares of `KINDS`; `kinds.json` beside them says which is which. No two texts are the same, so each has its own build.
`throughput.py --training-step` measures evaluators with them.
"""

from __future__ import annotations

import argparse
import json
import random
import textwrap
from pathlib import Path

from kernelgauge.errors import UsageError
from kernelgauge.generation.folder import Folder

KINDS = {"does not build": 0.35, "wrong": 0.25, "crashes": 0.10, "hangs": 0.03, "slow": 0.135, "right": 0.135}
"""Shares of a step: of what is right, half is slower than eager."""
MANIFEST = "kinds.json"

_REPEATS = 20
_FORWARDS = {
    "wrong": "return _right(self, *inputs) * 1.5",
    "hangs": "while True:\n    pass",
    "slow": f"for _ in range({_REPEATS}):\n    outputs = _right(self, *inputs)\nreturn outputs",
}
_CRASHES = ('raise RuntimeError("no kernel image is available")', "import os\nos.abort()")
_WRAPPED = """

_right = ModelNew.forward


def _changed(self, *inputs):
{body}


ModelNew.forward = _changed
"""


def shared_out(total: int) -> list[str]:
    """Kinds for so many candidates, by largest remainder."""
    exact = {kind: share * total for kind, share in KINDS.items()}
    counts = {kind: int(share) for kind, share in exact.items()}
    by_rest = sorted(KINDS, key=lambda kind: counts[kind] - exact[kind])
    for kind in by_rest[: total - sum(counts.values())]:
        counts[kind] += 1
    return [kind for kind, count in counts.items() for _ in range(count)]


def changed(text: str, kind: str, number: int) -> str:
    """A right candidate's text as one of a kind, different from that of any other number."""
    compiled = "#include" in text
    if compiled:
        error = "#error this answer does not build\n" if kind == "does not build" else ""
        text = text.replace("#include", f"// answer {number}\n{error}#include", 1)
    elif kind == "does not build":
        text = text.replace("class ModelNew", "this answer does not build\nclass ModelNew", 1)
    body = _CRASHES[number % 2] if kind == "crashes" else _FORWARDS.get(kind)
    if body is not None:
        text = ended_by(text, body)
    return f"# answer {number}\n{text}"


def ended_by(text: str, body: str) -> str:
    """A right candidate's text whose forward is this body; `_right` is what it was."""
    return text + _WRAPPED.format(body=textwrap.indent(body, " " * 4))


def write(folder: Path, out: Path, problems: int, each: int, seed: int) -> dict[str, str]:
    """Write a step's candidates below `out`; returns the kind of each by its path there, as `kinds.json` does.

    Raises:
        UsageError: the folder answers fewer problems.
    """
    answers = Folder(folder)
    keys = sorted(answers.problems())
    if len(keys) < problems:
        raise UsageError(f"{folder} answers {len(keys)} problems, and {problems} are asked for")
    draw = random.Random(seed)
    kinds = shared_out(problems * each)
    draw.shuffle(kinds)
    manifest = {}
    for place, key in enumerate(draw.sample(keys, problems)):
        source = answers.file(key, answers.samples(key)[0])
        for sample in range(each):
            number = place * each + sample
            level, position = key.split("/")
            path = Path(f"level{level}") / f"{position}_answer_sample_{sample}.py"
            (out / path).parent.mkdir(parents=True, exist_ok=True)
            (out / path).write_text(changed(source.read_text(), kinds[number], number))
            manifest[path.as_posix()] = kinds[number]
    (out / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n")
    return manifest


def main() -> None:
    """Write the candidates and say how many of each kind there are."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--candidates", type=Path, default=Path(__file__).parent / "cuda_candidates")
    parser.add_argument("--problems", type=int, default=8)
    parser.add_argument("--each", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    kinds = list(write(asked.candidates, asked.out, asked.problems, asked.each, asked.seed).values())
    print(", ".join(f"{kinds.count(kind)} {kind}" for kind in KINDS))


if __name__ == "__main__":
    main()

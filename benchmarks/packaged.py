"""How much faster do models get by packages of judged kernels? Llama, a vision transformer, a U-Net, by `optimize`.

    python benchmarks/packaged.py --device cuda --out runs/packaged            # the compiler's kernels
    python benchmarks/packaged.py --device cuda --out runs/packaged_expert --contestant expert   # kernels by hand
    python benchmarks/packaged.py --device cuda --out runs/packaged --contestant folder:answers/llama --only llama

Each model is a file of `benchmarks/packaged_models`, with random weights; `expert` answers its problems by what lies
in `answers` there. A line a model, and `packaged.json`, written anew after each, with all figures: before, after,
ratio with its interval, error of the answer, calls that kernels answered, and what became of each part.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from kernelgauge.expert.inlining import whole
from kernelgauge.hardware.environment import environment
from kernelgauge.packaging.optimize import Optimized, optimize

MODELS = Path(__file__).parent / "packaged_models"


def by_hand(name: str, folder: Path) -> str:
    """The answers to a model's problems as a contestant: each text with its parts in it."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in (MODELS / "answers" / name).glob("*.py"):
        (folder / path.name).write_text(whole(path.read_text()))
    return f"folder:{folder}"


def line(name: str, found: Optimized) -> str:
    """A row for a reader."""
    won = sum(cut.speedup is not None for cut in found.cuts)
    parts = f"{won} of {len(found.cuts)} problems won"
    if found.interval is None:
        return f"| {name} | | | | {parts} | |"
    low, high = found.interval
    ratio = f"{found.speedup:.3f} ({low:.3f} to {high:.3f})"
    return f"| {name} | {found.before_ms:.4g} | {found.after_ms:.4g} | {ratio} | {parts} | {found.error:.1g} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--contestant", default="inductor")
    parser.add_argument("--protocol", default="strict")
    parser.add_argument("--math", help="ieee or tf32; default: the protocol's for kernels, PyTorch's own for models")
    parser.add_argument("--only", default="", help="names of models, such as llama,vit")
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("--most-calls", type=int, default=60)
    parser.add_argument("--single-calls", action="store_true", help="also modules that are one call of PyTorch")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    wanted = [name for name in given.only.split(",") if name] or [path.stem for path in sorted(MODELS.glob("*.py"))]
    print("| model | before, ms | after, ms | ratio (95 %) | parts | error |\n|---|---:|---:|---:|---|---:|")
    given.out.mkdir(parents=True, exist_ok=True)
    said: dict[str, Any] = {
        "environment": environment(len(os.sched_getaffinity(0))).model_dump(mode="json"),
        "contestant": given.contestant,
        "protocol": given.protocol,
        "models": {},
    }
    for name in wanted:
        found = optimize(
            MODELS / f"{name}.py",
            given.out / name,
            contestant=by_hand(name, given.out / "answers" / name)
            if given.contestant == "expert"
            else given.contestant,
            name=f"{name}_kernels",
            device=given.device,
            protocol=given.protocol,
            math=given.math,
            most=given.most_calls,
            single_calls=given.single_calls,
            pairs=given.pairs,
            replace=True,
            tell=lambda what, name=name: print(f"{name}: {what}", file=sys.stderr),
        )
        print(line(name, found), flush=True)
        said["models"][name] = found.model_dump(mode="json")
        (given.out / "packaged.json").write_text(json.dumps(said, indent=1) + "\n")


if __name__ == "__main__":
    main()

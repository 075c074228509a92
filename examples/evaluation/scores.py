"""What `vf-eval` has written, as the shares that people compare: python scores.py OUT.

An answer counts as faster where the whole interval of its speedup is above 1. What has no verdict is left out of the
shares and counted, since a failure of the machine says nothing about a model.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def main(out: Path) -> None:
    """Prints a line of JSON. Ends with a sentence where nothing was judged."""
    lines = [line for file in sorted(out.rglob("traces.jsonl")) for line in file.read_text().splitlines()]
    traces = [trace for line in lines for trace in json.loads(line)["traces"]]
    judged = [trace["metrics"] for trace in traces if trace["ok"]]
    if not judged:
        raise SystemExit(f"none of {len(traces)} answers in {out} has a verdict: see their `errors` in traces.jsonl")
    faster = [each for each in judged if each["correct"] and each["speedup_low"] > 1]
    shares = {"correct": sum(each["correct"] for each in judged) / len(judged), "fast_1": len(faster) / len(judged)}
    rejected = sum(each["rejected"] for each in judged) / len(judged)
    counts = {"judged": len(judged), "without_verdict": len(traces) - len(judged)}
    print(json.dumps({**counts, **shares, "rejected": rejected}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))

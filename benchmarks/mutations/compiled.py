"""Right candidates with compiled kernels, and faults in them: the compiler contestant's on a CPU, the forty CUDA
candidates of this folder on a GPU."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

from kernelgauge.backends.registry import backend_named
from kernelgauge.evaluation.failures import Failure
from kernelgauge.generation.inductor import Inductor
from kernelgauge.pairs.mutations import NATIVE_OPERATORS, changes
from kernelgauge.problems.loader import load_problem
from kernelgauge.schema import Candidate, NoCandidate, Problem, Sizes
from kernelgauge.session.session import Session

from .mutants import Changed
from .processes import Text

CUDA_CANDIDATES = Path(__file__).parent.parent / "cuda_candidates"
KEPT = ("1/21", "1/22", "1/23", "1/24", "1/26", "1/27", "1/29", "1/31", "1/33", "1/36", "1/38", "1/39", "1/40",
        "1/45", "1/47", "1/48", "1/49", "1/53", "1/88", "1/94", "1/96", "1/99", "2/1", "2/7", "2/12", "2/15", "2/22",
        "2/28", "2/29", "2/37", "2/39", "2/47", "2/52", "2/62", "2/76", "2/81", "2/84", "2/88", "2/92", "2/95",
        "2/97", "2/99")  # fmt: skip
"""Problems for which TorchInductor writes C++ of its own on a CPU, not only calls of libraries."""


def problems(device: str) -> list[str]:
    """Keys of the problems that have a right candidate with compiled kernels."""
    if device == "cpu":
        return list(KEPT)
    files = CUDA_CANDIDATES.glob("level*/*.py")
    places = [(int(file.parent.name.removeprefix("level")), int(file.name.split("_")[0])) for file in files]
    return [f"{level}/{number}" for level, number in sorted(places)]


def right_candidate(key: str, sizes: Sizes, device: str, cache: Path) -> Candidate | NoCandidate:
    """The right candidate for a problem; what the compiler has written once is kept in `cache`."""
    problem = load_problem(key, sizes)
    if device != "cpu":
        level, number = key.split("/")
        (path,) = (CUDA_CANDIDATES / f"level{level}").glob(f"{number}_*.py")
        return Candidate(problem=key, source=path.read_text(), backend="cuda", contestant="cuda_candidates")
    kept = cache / f"{problem.digest}.json"
    if kept.exists():
        return Candidate.model_validate(json.loads(kept.read_text()))
    answer = Inductor(threads=1).complete(problem, 0, device)
    if isinstance(answer, Candidate):
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(answer.model_dump_json())
    return answer


def mutants(problem: Problem, right: Candidate, each: int, most: int) -> Iterator[Changed]:
    """Changed texts of one candidate, a sample that is the same every time.

    Args:
        each: places per operator.
        most: all operators together.
    """
    draw = random.Random(f"{problem.digest} {right.digest}")
    names = list(NATIVE_OPERATORS)
    draw.shuffle(names)
    found = [
        Changed(problem, right.contestant, name, change.what, text, right.backend)
        for name in names
        for places in [changes(right.source, name)]
        for change, text in draw.sample(places, min(each, len(places)))
    ]
    yield from found[:most]


def built(session: Session, changed: Changed, device: str) -> Text | None:
    """The text with its build; None where it does not compile."""
    candidate = Candidate(problem=changed.problem.key, source=changed.text, backend=changed.backend)
    if not backend_named(changed.backend).builds(changed.text, device):
        return None
    try:
        return Text(changed.text, changed.backend, session.supervisor.build(candidate, device).folder)
    except Failure:
        return None

"""Winners for tests of packages: judged here, under a protocol with patience; and packages imported."""

from __future__ import annotations

import importlib
import json
import re
import sys
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator

from kernelgauge.config import load_protocol
from kernelgauge.problems.loader import load_problem
from kernelgauge.schema import FORMAT, Candidate, Evaluation, RunHeader, Timing
from kernelgauge.store.run import Run

if TYPE_CHECKING:
    from kernelgauge.session.session import Session

# Of a measurement that something else on this machine has spoilt.
_TRIES = 2
PROBLEMS = Path(__file__).parents[1] / "packaging" / "problems"


def judged(
    session: Session, protocol: str, folder: Path, answers: Sequence[tuple[str, str]], timing: Timing | None = None
) -> list[Evaluation]:
    """Evaluations of candidates' texts for problems, stored in a run folder as a contestant's would be.

    Args:
        timing: stands in for a measurement of those that are right, where it is of no matter how fast a kernel is.
    """
    rules = load_protocol(protocol)
    header = RunHeader(
        kernelgauge="0.1.0",
        contestant="folder:answers",
        problems=tuple(dict.fromkeys(problem for problem, _ in answers)),
        sizes="full",
        device="cpu",
        protocol=rules.name,
        protocol_digest=rules.digest,
        math=rules.tolerance.math,
        kernel_policy=rules.kernel_policy,
    )
    found = []
    with Run.create_or_resume(folder, header) as run:
        for sample, (name, source) in enumerate(answers):
            problem = load_problem(name)
            for _ in range(_TRIES):
                record = session.evaluate(problem, source, protocol=protocol, device="cpu", timed=timing is None)
                if record.standing == "faster" or not record.passed or timing is not None:
                    break
            changes = {"timing": timing} if timing is not None and record.passed else {}
            record = record.model_copy(update={"sample": sample, "contestant": "folder:answers", **changes})
            run.append(record, Candidate(problem=problem.key, source=source, backend=record.backend))
            found.append(record)
    return found


def patient_protocol() -> str:
    """The text of `quick` that asks for little precision and has much patience: other tests are at work beside.

    An interval that reaches half of the ratio to both sides still tells, and kernels here are ten times as fast.
    """
    text = resources.files("kernelgauge.protocols").joinpath("quick.toml").read_text()
    text = text.replace('name = "quick"', 'name = "patient"')
    wanted = {"half_width": 0.5, "max_samples": 400, "budget_seconds": 12.0}
    for name, value in wanted.items():
        text, count = re.subn(rf"(?m)^{name} = [\d.]+", f"{name} = {value}", text, count=1)
        assert count == 1
    return text


def imported(folder: Path, name: str) -> ModuleType:
    """A package from the folder that it was written to."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        sys.modules.pop(name, None)
        return importlib.import_module(name)


def complaints(name: str, said: Any) -> list[str]:
    """What the JSON Schema of that name has against an object."""
    schema = resources.files("kernelgauge.schema").joinpath(f"json/v{FORMAT}/{name}.json")
    return [str(error) for error in Draft202012Validator(json.loads(schema.read_text())).iter_errors(said)]

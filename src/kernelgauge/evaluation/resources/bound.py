"""The bound of a timed candidate, and whether it was faster than memory: what costs a process is asked once.

Where nothing is known of the machine (`kernelgauge doctor --measure`) there is no bound and nothing is refused.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from kernelgauge.backends.cache import locked
from kernelgauge.checks.bound import bound, faster_than_memory
from kernelgauge.checks.memory import Call
from kernelgauge.config import MathMode
from kernelgauge.errors import ProblemError
from kernelgauge.evaluation.failures import Failure
from kernelgauge.evaluation.resources import description
from kernelgauge.hardware.peaks import known
from kernelgauge.sandbox.zygote_client import Zygote, worker_device
from kernelgauge.schema import Bound, Environment, Outcome, Peaks, Problem, Timing, Work, digest


class Bounds:
    """What problems have to do at the least, kept on disk by text, and what this machine can do.

    Args:
        folder: the cache folder.
    """

    def __init__(self, zygote: Zygote, folder: Path):
        self._zygote = zygote
        self._folder = folder
        self._examined = 0

    def peaks(self, environment: Environment, device: str) -> Peaks | None:
        """What the device can do; None if it was not measured and its ceilings are not known either."""
        return known(self._folder, environment, device)

    def work(self, problem: Problem, math: MathMode, environment: Environment) -> Work | None:
        """What one call has to do, as its reference is written; None where it cannot be told without its memory.

        Raises:
            ProblemError: the problem's own code fails, or has operators that know no shapes without values.
        """
        found = self._described(problem, math, environment)
        return Work(flops=found["flops"], **found["moved"]) if found["moved"] else None

    def call(self, problem: Problem, math: MathMode, environment: Environment) -> Call:
        """How large the tensors of one call are; raises as `work` does."""
        return Call(**self._described(problem, math, environment)["call"])

    def _described(self, problem: Problem, math: MathMode, environment: Environment) -> dict[str, Any]:
        def examine() -> dict[str, Any]:
            self._examined += 1
            # Who asks for the third time goes through many problems.
            preload = description.DESCRIBED_WITH if self._examined > 2 else ()
            found = description.described(self._zygote, problem, math, preload)
            return {"flops": found["flops"], "moved": found["moved"], "call": asdict(Call.of(found))}

        return self._kept(["described", problem.source, _width(math), environment.torch], examine)

    def foresee(self, problem: Problem, math: MathMode, device: str, environment: Environment) -> None:
        """Have a problem's work at hand when its candidate is timed, which nothing else should wait for."""
        if self.peaks(environment, device) is not None:
            with contextlib.suppress(ProblemError):
                self.work(problem, math, environment)

    def certain(self, problem: Problem, math: MathMode, device: str, environment: Environment) -> Work:
        """Bytes that any right kernel moves (see `required_bytes`); needs the device for itself.

        Raises:
            ProblemError: the problem's own code fails, or the device has not the memory.
        """
        found = self._kept(
            ["certain", problem.source, problem.domains, _width(math), worker_device(device), environment.digest],
            lambda: dict(description.certain(self._zygote, problem, math, device)),
        )
        return Work(parameters=0, **found)

    def judged(
        self, problem: Problem, math: MathMode, device: str, environment: Environment, timing: Timing
    ) -> Bound | None:
        """The bound of a candidate just timed; None where there is none.

        What must have moved is examined only for a candidate that beats even the time to move everything.

        Raises:
            Failure: `rejected`, rule `faster_than_memory`: it was faster than the bytes that must have moved allow.
        """
        peaks = self.peaks(environment, device)
        if peaks is None:
            return None
        try:
            work = self.work(problem, math, environment)
            if work is None:
                return None
            everything = Work(inputs=work.inputs, parameters=0, outputs=work.outputs)
            if faster_than_memory(everything, peaks, timing):
                certain = self.certain(problem, math, device, environment)
                if reason := faster_than_memory(certain, peaks, timing):
                    raise Failure(Outcome.REJECTED, reason, "faster_than_memory")
        except ProblemError:  # a reference that runs, but not where it can be examined, has no bound
            return None
        return bound(work, peaks, math, timing)

    def _kept(self, parts: list[Any], examine: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        path = self._folder / "work" / f"{digest(json.dumps(parts, sort_keys=True))}.json"
        with locked(path.with_suffix(".lock")):
            if not path.is_file():
                partial = path.with_suffix(".partial")
                partial.write_text(json.dumps(examine()))
                partial.rename(path)
            return dict(json.loads(path.read_text()))


def _width(math: MathMode) -> str:
    """What of the arithmetic changes the bytes: the type that inputs and parameters are cast to."""
    return math if math in ("fp16", "bf16") else "float32"

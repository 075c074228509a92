"""The compiler contestant: TorchInductor's generated code, judged like any other candidate.

The reference is executed and compiled in a process of its own (`inductor_compile`), because what a problem's
source does to a process, and what a compile leaves behind in it, must not reach the trusted parent.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from kernelgauge.config import MathMode
from kernelgauge.errors import MachineError, UsageError
from kernelgauge.generation.turns import Turns
from kernelgauge.hardware.cores import step_back
from kernelgauge.hardware.environment import visible_devices
from kernelgauge.sandbox.start import import_path
from kernelgauge.sandbox.zygote_client import BESIDE_A_GPU
from kernelgauge.schema import Candidate, NoCandidate, Problem

BACKENDS = {"cpu": "cpp", "cuda": "triton"}
"""Which kernel language Inductor writes for which device."""

TAIL = 2000
"""Characters of the compiler's output that are kept where it failed."""

# Compiles of this process on one GPU: beside others the memory may not suffice.
_TURNS = Turns()
_UNDER_WAY: set[subprocess.Popen[str]] = set()
_NO_ROOM = "OutOfMemoryError"


@dataclass(frozen=True)
class Inductor:
    """TorchInductor in default mode: one sample a problem, the same text for the same problem and torch."""

    timeout: float = 600.0
    """Seconds for one problem."""
    threads: int | None = None
    """Number of CPU threads the generated C++ is written for, since Inductor bakes it into the text: what the
    worker runs with. Torch's own default if None."""
    math: MathMode = "ieee"
    """What parameters and float inputs are cast to before the compile: the text is for that type alone."""

    on_device: ClassVar[bool] = True

    @property
    def name(self) -> str:
        return "inductor"

    def samples(self, problem: str) -> Sequence[int]:
        return (0,)

    def under(self, math: MathMode) -> Inductor:
        """The compiler for models that are cast to the type of this arithmetic."""
        return replace(self, math=math)

    def complete(self, problem: Problem, sample: int, device: str) -> Candidate | NoCandidate:
        """Compiles the reference and wraps the generated code; takes 5 to 30 s.

        Raises `UsageError` for an unknown device, `MachineError` if the compile was killed from outside.
        """
        kind = device.partition(":")[0]
        if kind not in BACKENDS:
            raise UsageError(f"Inductor writes kernels for {' and '.join(BACKENDS)}, not for {device!r}.")
        request = {
            "key": problem.key,
            "source": problem.source,
            "device": kind,
            "threads": self.threads,
            "math": self.math,
        }
        with _TURNS.together():
            answer = self._ask(json.dumps(request), device)
        if answer.get("reason", "").startswith(_NO_ROOM):
            with _TURNS.alone():
                answer = self._ask(json.dumps(request), device)
        if reason := answer.get("reason"):
            return NoCandidate(problem=problem.key, contestant=self.name, sample=sample, reason=reason)
        return Candidate(
            problem=problem.key,
            source=answer["source"],
            backend=BACKENDS[kind],
            contestant=self.name,
            sample=sample,
            origin=f"TorchInductor of torch {answer['torch']}",
        )

    def abandon(self) -> None:
        """End every compile of this process; those who wait for one get a `MachineError`."""
        for child in list(_UNDER_WAY):
            _kill(child)

    def _ask(self, request: str, device: str) -> dict[str, str]:
        with tempfile.TemporaryDirectory(prefix="kernelgauge-inductor-") as scratch:
            child = subprocess.Popen(
                [sys.executable, "-m", "kernelgauge.sandbox.start", "kernelgauge.generation.inductor_compile"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=scratch,
                env=_environment(scratch, device),
                text=True,
                errors="replace",
                start_new_session=True,
            )
            if device != "cpu":
                step_back(child.pid)
            _UNDER_WAY.add(child)
            try:
                out, err = child.communicate(request, timeout=self.timeout)
            except subprocess.TimeoutExpired:
                return {"reason": f"Inductor took longer than {self.timeout:g} s."}
            finally:
                _UNDER_WAY.discard(child)
                _end(child)
        if child.returncode == -signal.SIGKILL:
            raise MachineError("The Inductor compile was killed from outside; is this machine out of memory?")
        if child.returncode != 0:
            last = (err.strip().splitlines() or ["it printed nothing"])[-1]
            return {"reason": f"The Inductor compile ended with status {child.returncode}: {last}\n{err[-TAIL:]}"}
        answer: dict[str, str] = json.loads(out)
        return answer


def _environment(scratch: str, device: str) -> dict[str, str]:
    """The parent's environment, with every cache in `scratch`: no stale code, nothing left behind."""
    sees = {}
    if device != "cpu":
        sees = {"CUDA_VISIBLE_DEVICES": visible_devices(device), "OMP_NUM_THREADS": str(BESIDE_A_GPU)}
    return (
        os.environ
        | import_path()
        | sees
        | {
            "TORCHINDUCTOR_CACHE_DIR": f"{scratch}/cache",
            "TRITON_CACHE_DIR": f"{scratch}/triton",
            "TORCHINDUCTOR_COMPILE_THREADS": "1",
            "PYTHONHASHSEED": "0",
        }
    )


def _kill(child: subprocess.Popen[str]) -> None:
    """Kills the child's whole session: a compile may have started processes of its own."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)


def _end(child: subprocess.Popen[str]) -> None:
    _kill(child)
    child.wait()
    for pipe in (child.stdin, child.stdout, child.stderr):
        if pipe is not None:
            pipe.close()

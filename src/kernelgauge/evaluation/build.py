"""Building a candidate in a sealed process: compiling runs its code too."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

from kernelgauge.backends.base import Route
from kernelgauge.backends.cache import BuildCache
from kernelgauge.backends.registry import backend_named
from kernelgauge.evaluation.failures import Failure, explain_end, last_line
from kernelgauge.evaluation.isolation import SHARED_MEMORY
from kernelgauge.evaluation.launcher import Zygote
from kernelgauge.evaluation.process import WORKER_FAILURES, WorkerEnded, WorkerProcess
from kernelgauge.evaluation.worker import COMPILER_ERROR
from kernelgauge.schema import Candidate, Outcome

_LOG_TAIL = 12_000
_COMPILERS = ("CppCompileError", "CompileError", "InductorError", "BackendCompilerFailed")
# What is no word on the candidate while a shortcut was taken.
_ROUTE_FAILURES = ("OtherRoute", "OutOfMemory")
# The staging folder is another one each time: with it, equal errors would never read alike.
_FOLDER = re.compile(r"\S*/(?=[^/\s]+\.\w+[:(]\d)")


@dataclass(frozen=True)
class Built:
    """A finished build: its folder (None where the backend has nothing to build), whether it was made just now."""

    folder: Path | None
    made: bool
    log: str


Slot = Callable[[float], AbstractContextManager[None]]
"""Waits until so many gigabytes may be used, and holds them: `execution.build_pool.BuildPool.slot`."""


def unlimited(gigabytes: float) -> AbstractContextManager[None]:
    """A slot at once, for one build at a time."""
    return nullcontext()


def build_candidate(
    zygote: Zygote, candidate: Candidate, device: str, staging: Path, builds: BuildCache, slot: Slot = unlimited
) -> str:
    """Build into `staging` by the first route that serves, and return what the compiler printed.

    Args:
        builds: where routes keep what they need themselves.
        slot: given the memory a route takes; a build holds what it returns.

    Raises:
        Failure: `build_failed` with the compiler's error, `load_failed` if the file itself is broken,
            `timed_out`, `out_of_memory`; always of the last route that was tried.
        MachineError: the build process was killed from outside.
    """
    *shortcuts, last = backend_named(candidate.backend).routes(candidate.source, builds)
    for route in shortcuts:
        with slot(route.gigabytes), suppress(_GaveUp):
            return _build(zygote, candidate, device, staging, route)
    with slot(last.gigabytes):
        return _build(zygote, candidate, device, staging, last)


class _GaveUp(Exception):
    """A route did not serve: its own word, or the process died on it."""


def _build(zygote: Zygote, candidate: Candidate, device: str, staging: Path, route: Route) -> str:
    backend = backend_named(candidate.backend)
    environment = backend.environment(device, Path("{scratch}")) | dict(route.variables)
    environment["TORCHINDUCTOR_CACHE_DIR"] = str(staging / "inductor")
    limit = zygote.settings.limits.build_seconds
    preload = backend.preload(candidate.source, device)
    writable = (staging, SHARED_MEMORY)  # compilers work side by side
    with WorkerProcess(zygote, "worker", device, environment, writable=writable, preload=preload) as process:
        path = process.scratch / "candidate.py"
        path.write_text(candidate.source)
        try:
            process.tell("build", path=str(path), backend=candidate.backend, build_dir=str(staging))
            claim = process.receive("loaded", limit)
        except WORKER_FAILURES as error:
            if route.variables and isinstance(error, WorkerEnded):
                raise _GaveUp from error
            failure = explain_end("build", limit, error, process.log())
            died = failure.outcome is Outcome.RUNTIME_ERROR
            outcome = Outcome.BUILD_FAILED if died else failure.outcome
            raise Failure(outcome, failure.reason, failure.rule, process.log()) from error
        log = process.log()[-_LOG_TAIL:]
    if claim.event == "failed":
        if route.variables and claim.kind in _ROUTE_FAILURES:
            raise _GaveUp
        raise _explain(claim.kind, claim.message, log)
    return log


def _explain(kind: str, message: str, log: str) -> Failure:
    if kind == "OutOfMemory":
        return Failure(Outcome.OUT_OF_MEMORY, f"build: {last_line(message)}", log=log)
    errors = [line.strip() for line in message.splitlines() if COMPILER_ERROR.search(line)]
    if errors or "Error building extension" in message or kind in _COMPILERS:
        shown = _FOLDER.sub("", errors[0]) if errors else last_line(message)
        return Failure(Outcome.BUILD_FAILED, f"build: {shown[:500]}", log=f"{log}\n{message}")
    return Failure(Outcome.LOAD_FAILED, f"load: {last_line(message)}", log=f"{log}\n{message}")

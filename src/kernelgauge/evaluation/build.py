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
from kernelgauge.config import MathMode
from kernelgauge.deletion import delete
from kernelgauge.evaluation.failures import Failure, explain_end
from kernelgauge.evaluation.rehearsal import Call, Calls, key_of, math_of
from kernelgauge.hardware.cores import step_back
from kernelgauge.sandbox.process import WorkerProcess
from kernelgauge.sandbox.worker_errors import WORKER_FAILURES
from kernelgauge.sandbox.zygote_client import Zygote
from kernelgauge.schema import Candidate, Outcome
from kernelgauge.wire.candidate_commands import CANDIDATE_FILE, Build, Rehearse
from kernelgauge.wire.error_text import compiler_error, last_line

_LOG_TAIL = 12_000
_COMPILERS = ("CppCompileError", "CompileError", "CompilationError", "InductorError", "BackendCompilerFailed")
# What is no word on the candidate while a shortcut was taken.
_ROUTE_FAILURES = ("OtherRoute", "OutOfMemory")
# Two compilers at once, for host and device: what the gigabytes of the routes are measured with.
_VARIABLES = {"MAX_JOBS": "2"}
# A list of configurations takes a while; what outlasts this compiles the rest in the first call.
_REHEARSAL_SECONDS = 60.0
_KEEPING_SECONDS = 30.0
# How an error reads that a GPU would have spared the candidate.
_ABOUT_DEVICE = re.compile(r"\b(?:CUDA|NVIDIA|NVML|GPU|[Dd]rivers?\b)")


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


class NeedsDevice(Exception):
    """A candidate asked for the GPU in a build that had none: it is to be built when it is alone on the device."""


class _GaveUp(Exception):
    """A shortcut did not serve: its own word, or the process died or never ended on it."""


@dataclass(frozen=True)
class _Order:
    """What is to be built, where to, and whether the device is hidden from it."""

    candidate: Candidate
    device: str
    hidden: bool
    staging: Path
    lent: tuple[str, ...]
    math: MathMode


class Builder:
    """Builds candidates in sealed processes.

    Args:
        builds: the cache of finished builds, and of what routes need themselves.
        slot: given the memory a route takes; a build holds what it returns.
    """

    def __init__(self, zygote: Zygote, builds: BuildCache, slot: Slot = unlimited):
        self._zygote = zygote
        self._builds = builds
        self._slot = slot
        self._calls = Calls(zygote)

    def build(
        self,
        candidate: Candidate,
        device: str,
        hidden: bool = False,
        lent: tuple[str, ...] = (),
        call: Call | None = None,
    ) -> Built:
        """Compile a candidate into the cache by the first route that serves, or find it there.

        Args:
            device: what it is built for.
            hidden: build without that device, which others are timed on.
            lent: import statements that its namespace begins with. They are no part of a build's name: what is built
                without them is the same, or nothing.
            call: what a backend that has no build of its own may rehearse in one, and whose arithmetic any build
                is made for; None: that of `strict`.

        Raises:
            Failure: `build_failed` with the compiler's error, `load_failed` if the file itself is broken,
                `timed_out`, `out_of_memory`; always of the last route that was tried.
            NeedsDevice: with `hidden`: it cannot be built that way.
            MachineError: the build process was killed from outside.
        """
        backend = backend_named(candidate.backend)
        builds = backend.builds(candidate.source, device)
        if not builds and (call is None or not backend.rehearses(candidate.source, device)):
            return Built(None, False, "")
        log = ""

        def make(staging: Path) -> None:
            nonlocal log
            order = _Order(candidate, device, hidden or not builds, staging, lent, math_of(call))
            if builds:
                log = self._by_first_that_serves(order)
            elif call is not None:
                self._rehearse(order, call)

        folder, made = self._builds.build(key_of(candidate, device, call), make)
        return Built(folder, made, log)

    def _by_first_that_serves(self, order: _Order) -> str:
        *shortcuts, last = backend_named(order.candidate.backend).routes(order.candidate.source, self._builds)
        for route in shortcuts:
            with self._slot(route.gigabytes), suppress(_GaveUp):
                return self._by(route, order, final=False)
            delete(order.staging)  # what was built has a part in what went wrong
            order.staging.mkdir()
        with self._slot(last.gigabytes):
            return self._by(last, order, final=True)

    def _rehearse(self, order: _Order, call: Call) -> None:
        """Compile what the first call would; whatever goes wrong, nothing is said of the candidate.

        What a process leaves that did not come to an end is not kept: it may be half of something.
        """
        told = self._calls.arguments(call)
        if told is None:
            return
        route = backend_named(order.candidate.backend).routes(order.candidate.source, self._builds)[-1]
        with self._slot(route.gigabytes), self._process(route, order) as process:
            command = Rehearse(
                str(self._written(process, order)),
                order.candidate.backend,
                str(order.staging),
                call.attribute,
                told["init"],
                told["arguments"],
                call.math,
                call.card(),
                _REHEARSAL_SECONDS,
                list(order.lent),
            )
            with suppress(*WORKER_FAILURES):
                claim = process.ask(command, _REHEARSAL_SECONDS + _KEEPING_SECONDS)
                if claim.event != "failed":
                    return
        delete(order.staging)
        order.staging.mkdir()

    def _by(self, route: Route, order: _Order, final: bool) -> str:
        """What the compilers printed on this route; one that may itself be at fault raises _GaveUp, unless final."""
        with self._process(route, order) as process:
            try:
                return self._compiled(process, order, final)
            except Failure as failure:
                failure.layers = process.layers
                raise

    def _compiled(self, process: WorkerProcess, order: _Order, final: bool) -> str:
        path = self._written(process, order)
        command = Build(
            str(path), order.candidate.backend, str(order.staging), order.hidden, list(order.lent), order.math
        )
        limit = self._zygote.settings.limits.build_seconds
        try:
            claim = process.ask(command, limit)
        except WORKER_FAILURES as error:
            if not final:
                raise _GaveUp from error
            failure = explain_end("build", limit, error, process.log())
            raise _ended(failure, process.log(), order.hidden) from error
        log = process.log()[-_LOG_TAIL:]
        if claim.event == "failed":
            if order.hidden and claim.kind == "DeviceAsked":
                raise NeedsDevice
            if not final and claim.kind in _ROUTE_FAILURES:
                raise _GaveUp
            raise _explain(claim.kind, claim.message, log, order.hidden)
        return log

    def _written(self, process: WorkerProcess, order: _Order) -> Path:
        """The file that the process builds, which makes way for others."""
        if order.device != "cpu":
            step_back(process.pid)
        path = process.scratch / CANDIDATE_FILE
        path.write_text(order.candidate.source)
        return path

    def _process(self, route: Route, order: _Order) -> WorkerProcess:
        backend = backend_named(order.candidate.backend)
        variables = backend.environment(order.device, Path("{scratch}")) | _VARIABLES | dict(route.variables)
        variables["TORCHINDUCTOR_CACHE_DIR"] = str(order.staging / "inductor")
        return WorkerProcess(
            self._zygote,
            "worker",
            "cpu" if order.hidden else order.device,
            variables,
            writable=(order.staging,),
            preload=backend.preload(order.candidate.source, order.device),
            visible=route.visible,
            compiles=True,
        )


def _ended(failure: Failure, log: str, hidden: bool) -> Exception:
    """What the end of a building process says."""
    died = failure.outcome is Outcome.RUNTIME_ERROR
    if died and hidden:
        return NeedsDevice()
    return Failure(Outcome.BUILD_FAILED if died else failure.outcome, failure.reason, failure.rule, log)


def _explain(kind: str, message: str, log: str, hidden: bool) -> Exception:
    """What the exception of a building process says."""
    if kind == "OutOfMemory":
        return Failure(Outcome.OUT_OF_MEMORY, f"build: {last_line(message)}", log=log)
    error = compiler_error(message)
    if error or "Error building extension" in message or kind in _COMPILERS:
        return Failure(Outcome.BUILD_FAILED, f"build: {error or last_line(message)}", log=f"{log}\n{message}")
    if hidden and _ABOUT_DEVICE.search(last_line(message)):
        return NeedsDevice()
    return Failure(Outcome.LOAD_FAILED, f"load: {last_line(message)}", log=f"{log}\n{message}")

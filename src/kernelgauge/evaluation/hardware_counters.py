"""Hardware counters of one forward: workers of their own under ncu or rocprofv3, asked as every other worker is.

Nothing here fails a profile: why there are no counters is one sentence.
"""

from __future__ import annotations

import csv
import os
import shutil
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from kernelgauge.backends.base import search_path
from kernelgauge.backends.cuda import cuda_home
from kernelgauge.backends.hip import rocm_home
from kernelgauge.errors import MachineError
from kernelgauge.evaluation.failures import Failure
from kernelgauge.evaluation.sides.model_worker import Source
from kernelgauge.evaluation.sides.reference import Reference
from kernelgauge.evaluation.sides.side import Side
from kernelgauge.hardware.environment import package_version
from kernelgauge.profiling import ncu, rocprof
from kernelgauge.sandbox.process import WorkerProcess
from kernelgauge.sandbox.worker_errors import WORKER_FAILURES
from kernelgauge.sandbox.zygote_client import Zygote, worker_device
from kernelgauge.schema import Counters
from kernelgauge.wire.candidate_commands import ForwardForNcu, StartNcu
from kernelgauge.wire.commands import Warm

_START_SECONDS = 120.0
_REPLAY_SECONDS = 300.0
_LARGEST_REPORT = 8 << 20
_REPORT = "counters.csv"


class NoCounters(Exception):
    """Why there are no hardware counters, in one sentence."""


class Tool(Protocol):
    """A program that counts: the modules `profiling.ncu` and `profiling.rocprof`."""

    NAME: str
    PACKAGE: str
    NOTE: str
    """What a reader should know of its figures."""
    PASSES: int
    """How many workers it takes to count everything."""

    def command(self, path: str, functions: Sequence[str], report: Path, number: int) -> list[str]: ...

    def report_file(self, report: Path) -> Path: ...

    def files(self, path: str) -> Path: ...

    def parse(self, texts: Sequence[str], calls: Mapping[str, float]) -> tuple[Counters, ...]: ...

    def complaint(self, text: str) -> str | None: ...


@dataclass(frozen=True)
class Profiled:
    """What is counted, and by which program.

    Args:
        path: of the tool.
        calls: launches of a forward by the bare name of their kernel, the longest kernel first.
        sealed: whether the usual isolation layers stand around both; see `worker.under_ncu`.
    """

    source: Source
    device: str
    tool: Tool
    path: str
    calls: Mapping[str, float] = field(default_factory=dict)
    sealed: bool = True


def tool_here() -> Tool:
    """The one for the GPUs that this PyTorch computes on."""
    return rocprof if "rocm" in (package_version("torch") or "") else ncu


def path_of(tool: Tool) -> str | None:
    """On the path, or in CUDA's or ROCm's folder."""
    home = cuda_home() if tool is ncu else rocm_home(tool.NAME)
    return shutil.which(tool.NAME, path=search_path()) or (
        shutil.which(tool.NAME, path=home / "bin") if home else None
    )


class CountedSide(Side):
    """A side whose worker runs under such a program: one pass of it."""

    def __init__(self, zygote: Zygote, profiled: Profiled, number: int = 0):
        super().__init__(zygote, profiled.source, profiled.device)
        self._profiled, self._number = profiled, number

    def _started(self, environment: dict[str, str], preload: tuple[str, ...]) -> WorkerProcess:
        process = WorkerProcess(
            self._zygote,
            "ncu",
            self._device,
            environment,
            sealed=self._profiled.sealed,
            preload=preload,
            visible=(self._tool.files(self._profiled.path),),
        )
        self.process = process  # from here on to be closed, also if the rest fails
        report = process.scratch / _REPORT
        line = self._tool.command(self._profiled.path, list(self._profiled.calls), report, self._number)
        process.ask(StartNcu(line, self._profiled.sealed), _START_SECONDS)
        if self._device != "cpu":
            process.tell(Warm(worker_device(self._device)))
        return process

    def report(self) -> str:
        """What the tool wrote so far, its report or else its complaint; the worker could have written it as well."""
        if not hasattr(self, "process"):
            return ""
        return _read(self._tool.report_file(self.process.scratch / _REPORT)) or self.process.log()

    @property
    def _tool(self) -> Tool:
        return self._profiled.tool


def _read(path: Path) -> str:
    """A file that a worker may have put something else in place of: followed nowhere, waited for never."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return ""
        return os.pread(descriptor, _LARGEST_REPORT, 0).decode(errors="replace")
    finally:
        os.close(descriptor)


def count(zygote: Zygote, profiled: Profiled, reference: Reference) -> tuple[Counters, ...]:
    """Counters of the longest kernels, on the inputs that `reference` has drawn last.

    A figure whose pass failed is None.

    Raises:
        NoCounters: there are none.
    """
    tool = profiled.tool
    reports, failed = [], []
    for number in range(tool.PASSES):
        try:
            reports.append(_report(CountedSide(zygote, profiled, number), reference, tool))
        except NoCounters as why:
            failed.append(why)
    if not reports:
        raise failed[0]
    try:
        found = tool.parse(reports, profiled.calls)
    except (ValueError, csv.Error) as error:  # the candidate can write there too
        raise NoCounters(f"the report of {tool.NAME} is not well-formed") from error
    if not found:
        raise NoCounters(tool.complaint(reports[0]) or f"{tool.NAME} saw no kernel in the forward")
    return found


def _report(side: CountedSide, reference: Reference, tool: Tool) -> str:
    """What the tool says of one forward.

    Raises:
        NoCounters: that forward, or the tool, failed.
    """
    try:
        side.start()
        side.open(reference.init, reference.weight_seed, reference.randomise, reference.math)
        side.attach(reference.master.size, reference.expected)
        side.stage(reference.arguments, reference.master, reference.call_seed)
        side.ask(ForwardForNcu(), _REPLAY_SECONDS)
        side.process.finish(_REPLAY_SECONDS)
        return side.report()
    except (Failure, MachineError, *WORKER_FAILURES) as error:
        why = ncu.short_line(str(error) or type(error).__name__)
        raise NoCounters(tool.complaint(side.report()) or f"under {tool.NAME}: {why}") from error
    finally:
        side.close()

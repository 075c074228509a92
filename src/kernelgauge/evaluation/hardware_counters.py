"""Hardware counters of one forward: a worker of its own under ncu, asked as every other worker is.

Nothing here fails a profile: why there are no counters is one sentence.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterable
from pathlib import Path

from kernelgauge.backends.base import search_path
from kernelgauge.backends.cuda import cuda_home
from kernelgauge.errors import MachineError
from kernelgauge.evaluation.failures import Failure
from kernelgauge.evaluation.sides.model_worker import Source
from kernelgauge.evaluation.sides.reference import Reference
from kernelgauge.evaluation.sides.side import Side
from kernelgauge.profiling import ncu
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


def find_ncu() -> str | None:
    """The path of ncu: on the path, or in the CUDA toolkit."""
    home = cuda_home()
    return shutil.which("ncu", path=search_path()) or (shutil.which("ncu", path=home / "bin") if home else None)


class CountedSide(Side):
    """A side whose worker runs under ncu.

    Args:
        profiler: path of ncu.
        functions: bare names of the kernels of a forward, the longest first.
        sealed: whether the usual isolation layers stand around both; see `worker.under_ncu`.
    """

    def __init__(
        self, zygote: Zygote, source: Source, device: str, profiler: str, functions: Iterable[str], sealed: bool
    ):
        super().__init__(zygote, source, device)
        self._profiler, self._functions, self._sealed = profiler, functions, sealed

    def _started(self, environment: dict[str, str], preload: tuple[str, ...]) -> WorkerProcess:
        process = WorkerProcess(
            self._zygote,
            "ncu",
            self._device,
            environment,
            sealed=self._sealed,
            preload=preload,
            visible=(Path(self._profiler).resolve().parent,),  # its libraries, which it has the worker load
        )
        self.process = process  # from here on to be closed, also if the rest fails
        line = ncu.command(self._profiler, self._functions, process.scratch / _REPORT)
        process.ask(StartNcu(line, self._sealed), _START_SECONDS)
        if self._device != "cpu":
            process.tell(Warm(worker_device(self._device)))
        return process

    def report(self) -> str:
        """What ncu wrote so far, its report or else its complaint; the worker could have written it as well."""
        if not hasattr(self, "process"):
            return ""
        return _read(self.process.scratch / _REPORT) or self.process.log()


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


def count(side: CountedSide, reference: Reference) -> tuple[Counters, ...]:
    """Counters of the side's longest kernels, on the inputs that `reference` has drawn last.

    Raises:
        NoCounters: there are none.
    """
    try:
        side.start()
        side.open(reference.init, reference.weight_seed, reference.randomise, reference.math)
        side.attach(reference.master.size, reference.expected)
        side.stage(reference.arguments, reference.master, reference.call_seed)
        side.ask(ForwardForNcu(), _REPLAY_SECONDS)
        side.process.finish(_REPLAY_SECONDS)
        found = ncu.parse(side.report())
        if not found:
            raise NoCounters(ncu.complaint(side.report()) or "ncu saw no kernel in the forward")
        return found
    except (Failure, MachineError, *WORKER_FAILURES) as error:
        why = ncu.short_line(str(error) or type(error).__name__)
        raise NoCounters(ncu.complaint(side.report()) or f"under ncu: {why}") from error
    finally:
        side.close()

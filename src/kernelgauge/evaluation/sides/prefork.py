"""Processes started ahead for the next evaluation on a GPU: starting the device takes longer than many evaluations.

A preforked process has run nothing but our own code: it is forked, sealed, and has started its device and the
libraries most models use, while the candidate before was checked. It is not started beside timed calls: their median
stays, but they scatter more, and so more are needed.
"""

from __future__ import annotations

import contextlib
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

import torch

from kernelgauge.errors import MachineError, OutOfDeviceMemory
from kernelgauge.hardware.cores import leave_launch_cores
from kernelgauge.hardware.environment import device_index
from kernelgauge.sandbox.process import WorkerProcess
from kernelgauge.sandbox.worker_errors import WORKER_FAILURES
from kernelgauge.sandbox.zygote_client import Role, Zygote, worker_device
from kernelgauge.wire.commands import Warm
from kernelgauge.wire.error_text import last_line

# Of the device's memory, in bytes: a started device takes half a gigabyte in each process.
_ROOM = 2**33


class Kind(NamedTuple):
    """What a process must be told at its birth; see `WorkerProcess`."""

    role: Role
    device: str
    environment: tuple[tuple[str, str], ...] = ()
    preload: tuple[str, ...] = ()
    sealed: bool = True


def kind_of(
    role: Role,
    device: str,
    environment: Mapping[str, str] | None = None,
    preload: tuple[str, ...] = (),
    sealed: bool = True,
) -> Kind:
    """The arguments of a `WorkerProcess` as something to look up."""
    return Kind(role, device, tuple(sorted((environment or {}).items())), preload, sealed)


def started(zygote: Zygote, kind: Kind) -> WorkerProcess:
    """A new process; on a GPU it starts the device, and will answer `staged` when it has."""
    process = WorkerProcess(
        zygote, kind.role, kind.device, dict(kind.environment), sealed=kind.sealed, preload=kind.preload
    )
    if kind.device != "cpu":
        leave_launch_cores(process.pid)
        process.tell(Warm(worker_device(kind.device)))
    return process


def await_device(process: WorkerProcess, device: str, seconds: float) -> None:
    """Wait until a process that was told to has started its device.

    Raises:
        OutOfDeviceMemory: the device has no room for that.
        MachineError: it cannot for another reason, or not within that time.
    """
    if process.device_started or device == "cpu":
        return
    try:
        said = process.receive(Warm.answer, seconds)
    except WORKER_FAILURES as error:
        raise MachineError(f"a process could not start {device}: {process.log()[-2000:]}") from error
    if said.event == "failed" and said.kind == "OutOfMemory":
        raise OutOfDeviceMemory(f"no room for another CUDA context: {last_line(said.message)}")
    if said.event == "failed":
        raise MachineError(f"a process could not start {device}: {last_line(said.message)}")
    process.device_started = True


class PreforkPool:
    """On each GPU, as many processes of each kind as the evaluation before has used."""

    def __init__(self, zygote: Zygote):
        self._zygote = zygote
        self._kept: dict[str, list[tuple[Kind, Future[WorkerProcess]]]] = defaultdict(list)
        self._taken: dict[str, list[Kind]] = defaultdict(list)
        self._unwanted: set[str] = set()
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(3, thread_name_prefix="kernelgauge-prefork")

    def take(self, kind: Kind) -> WorkerProcess:
        """A process of this kind that nobody has used, started now if there is none.

        Raises:
            MachineError: it cannot be started.
        """
        with self._lock:
            self._taken[kind.device].append(kind)
            kept = self._kept[kind.device]
            place = next((place for place, (other, _) in enumerate(kept) if other == kind), None)
            found = kept.pop(place)[1] if place is not None else None
        return _alive(found) or started(self._zygote, kind)

    def expect(self, kind: Kind) -> None:
        """The next evaluation will take a process of this kind, though this one has not."""
        with self._lock:
            self._taken[kind.device].append(kind)

    def renew(self, device: str) -> None:
        """Have what was taken on a GPU since the last time once more, and end what nobody will take.

        To be called once an evaluation is open: the driver starts one process after the other.
        """
        with self._lock:
            wanted = self._taken.pop(device, [])
        if device == "cpu" or device in self._unwanted:
            return
        with self._lock:
            staying: list[tuple[Kind, Future[WorkerProcess]]] = []
            unused: list[tuple[Kind, Future[WorkerProcess]]] = []
            for kind, future in self._kept.pop(device, []):
                (staying if kind in wanted else unused).append((kind, future))
                if kind in wanted:
                    wanted.remove(kind)
        _end(unused)
        if torch.cuda.mem_get_info(device_index(device))[0] > _ROOM:
            with self._lock:
                fresh = [(kind, self._pool.submit(started, self._zygote, kind)) for kind in wanted]
                self._kept[device] = [*staying, *fresh]
        else:
            _end(staying)

    def settle(self, device: str) -> None:
        """Wait until the unused processes of a device have started it, so that nothing of that is timed."""
        for _, future in list(self._kept[device]):
            with contextlib.suppress(MachineError):  # whoever takes it will see
                await_device(future.result(), device, self._zygote.settings.limits.load_seconds)

    def let_go(self, device: str) -> None:
        """End the unused processes of a device: they hold memory that somebody needs."""
        with self._lock:
            unused = self._kept.pop(device, [])
        _end(unused)

    @contextlib.contextmanager
    def none(self, device: str) -> Iterator[None]:
        """While open, no process of the device is there or started but those that somebody uses."""
        self._unwanted.add(device)
        self.let_go(device)
        try:
            yield
        finally:
            self._unwanted.discard(device)

    def close(self) -> None:
        """End every unused process."""
        for device in list(self._kept):
            self.let_go(device)


def _end(unused: Iterable[tuple[Kind, Future[WorkerProcess]]]) -> None:
    for _, future in unused:
        if not future.cancel():
            with contextlib.suppress(MachineError):  # it was never born
                future.result().close()


def _alive(found: Future[WorkerProcess] | None) -> WorkerProcess | None:
    try:
        process = found.result() if found else None
    except MachineError:  # a new one may do better, or says so itself
        return None
    if process is not None and not process.alive():
        process.close()
        return None
    return process

"""The parent's handle on one process forked from the zygote."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from kernelgauge.deletion import delete
from kernelgauge.errors import MachineError
from kernelgauge.sandbox.freeze import Pursuit, Running, ran_since
from kernelgauge.sandbox.holder import Holder, spin_until_readable
from kernelgauge.sandbox.reaper import Reaper, is_readable
from kernelgauge.sandbox.resource_usage import ResourceUsage
from kernelgauge.sandbox.spot_check import readable
from kernelgauge.sandbox.worker_errors import (
    WORKER_FAILURES,
    ChannelClosed,
    DiskFilled,
    ProtocolBroken,
    WorkerEnded,
    WorkerTimedOut,
    WorkerTooLarge,
)
from kernelgauge.sandbox.zygote_client import Role, Zygote, fork_request, memory_limit
from kernelgauge.wire.commands import Command, send_command
from kernelgauge.wire.messages import LARGEST_MESSAGE, Claim, Event, parse_claim

_SETUP_SECONDS = 60.0
_LOG_BYTES = 32 * 1024
# How often the parent looks how much a worker holds while it waits for it.
_LOOK_SECONDS = 0.25


class WorkerProcess:
    """One forked process, its scratch folder, and the channel to it; a context manager that leaves nothing behind.

    Args:
        role: `worker` runs a candidate or the reference, `ncu` too, under Nsight Compute; `oracle` and `describer`
            run the problem's own trusted code.
        environment: variables beside the scrubbed minimum; `{scratch}` in a value is replaced.
        sealed: whether the isolation layers of `isolation` go up.
        writable: folders it may write to beside its scratch.
        visible: folders it may read beside these, `given` and what `readable` names.
        preload: modules the zygote imports before it forks; named by backends or by us, never by candidates.
        compiles: whether it starts compilers, which together take more memory than a worker.
    """

    def __init__(
        self,
        zygote: Zygote,
        role: Role,
        device: str = "cpu",
        environment: dict[str, str] | None = None,
        sealed: bool = True,
        writable: tuple[Path, ...] = (),
        preload: tuple[str, ...] = (),
        visible: tuple[Path, ...] = (),
        compiles: bool = False,
    ):
        self.scratch = zygote.scratch.make(role)
        self.given = zygote.scratch.make("given")
        """Where the parent puts what the worker may read and not change."""
        for name in ("home", "tmp"):
            (self.scratch / name).mkdir()
        request = fork_request(
            zygote.settings,
            role,
            device,
            self.scratch,
            environment or {},
            sealed,
            writable,
            visible,
            self.given,
            preload,
        )
        memory = memory_limit(zygote.settings, "" if compiles else device)
        self.usage = ResourceUsage(memory, int(zygote.settings.limits.disk_gb * 2**30))
        # Opened once, here: by the time it is read, the worker may have put something else in its place.
        self._log = os.open(self.scratch / "log.txt", os.O_CREAT | os.O_RDWR | os.O_APPEND, 0o600)
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._reaper = Reaper()
        self._holder = Holder(self._reaper)
        self._frozen = False
        self._limited = sealed and role == "worker"
        self._folders = [self.scratch, *writable]
        self.device_started = False
        self._before = self._still = Running()
        self._others_ns = 0
        try:
            try:
                zygote.fork(
                    request, [theirs.fileno(), self._reaper.reporting, self._log, self._holder.theirs.fileno()]
                )
            finally:
                self._reaper.handed_over()
                theirs.close()
                self._holder.theirs.close()
            self._reaper.await_birth(_SETUP_SECONDS)
            self.layers = self.receive("ready", _SETUP_SECONDS).layers
            if sealed and role == "worker":
                zygote.check_layers(self.layers)
            self.readable = readable(self.pid)
        except (*WORKER_FAILURES, TimeoutError, OSError, MachineError) as error:
            printed = self.log()
            self.close()
            raise MachineError(f"a worker process could not be set up ({error}): {printed[-2000:]}") from error

    def ask(
        self,
        command: Command,
        seconds: float,
        then: Callable[[], None] | None = None,
        idle: Callable[[], float] | None = None,
    ) -> Claim:
        """Send one command and wait for its answer; `failed` is an answer too.

        Args:
            then: what comes at once, before we look at what the worker holds.
            idle: the limit while it leaves no files, as it is at each look; None: `seconds`.

        Raises:
            WorkerEnded, WorkerTimedOut, ChannelClosed, ProtocolBroken, WorkerTooLarge, DiskFilled: see there.
        """
        self.tell(command)
        claim = self.parse(self.receive_raw(seconds, idle=idle), command.answer)
        if then is not None:
            then()
        self._look_at_holdings()
        return claim

    def tell(self, command: Command) -> None:
        """Send one command without waiting."""
        try:
            send_command(self._channel, command)
        except OSError:
            raise self._gone() from None

    def receive_raw(self, seconds: float, spin: bool = False, idle: Callable[[], float] | None = None) -> bytes:
        """The next message as bytes, read but not looked at, so that parsing stays outside a timed bracket.

        Args:
            spin: look again and again for a while before sleeping: being woken takes as long as a short kernel.
            idle: as for `ask`.
        """
        there = spin and spin_until_readable(self._channel)
        if not there and (passed := self._passed_without_message(seconds, idle or (lambda: seconds))):
            self.kill()
            raise WorkerTimedOut(passed)
        try:
            raw = self._channel.recv(LARGEST_MESSAGE)
        except ConnectionResetError:
            raw = b""
        if not raw:
            raise self._gone()
        return raw

    def _passed_without_message(self, seconds: float, idle: Callable[[], float]) -> float | None:
        """Which limit has passed before there was something to read; meanwhile what the worker holds is watched."""
        began = time.monotonic()
        while True:
            most = idle()
            quiet = max(began, self.usage.wrote_at) + most
            deadline = min(began + seconds, quiet)
            if is_readable(self._channel.fileno(), max(0.0, min(_LOOK_SECONDS, deadline - time.monotonic()))):
                return None
            if time.monotonic() >= deadline:
                return most if quiet < began + seconds else seconds
            self._look_at_holdings()

    def _look_at_holdings(self) -> None:
        """End a worker that holds more than it may; nothing where it has no limits."""
        if not self._limited or not self.pid:
            return
        try:
            self.usage.look(self.held)
        except (WorkerTooLarge, DiskFilled):
            self.kill()
            raise

    def held(self, order: bytes) -> int:
        """What comes of an order to count what it holds; see `resource_usage`."""
        return self._holder.count(order, self._folders)

    def parse(self, raw: bytes, answer: Event) -> Claim:
        """A claim from `raw` of the kind expected next; anything else ends the worker."""
        try:
            claim = parse_claim(raw)
        except ValueError as error:
            self.kill()
            raise ProtocolBroken(f"not a well-formed message: {str(error)[:300]}") from error
        if claim.event not in (answer, "failed"):
            self.kill()
            raise ProtocolBroken(f"said {claim.event!r} where {answer!r} was due")
        return claim

    def receive(self, answer: Event, seconds: float) -> Claim:
        """The next claim; see `ask`."""
        return self.parse(self.receive_raw(seconds), answer)

    def halt(self) -> None:
        """Stop the worker's own process group, at once."""
        self._reaper.signal(signal.SIGSTOP)
        self._frozen = True

    def freeze(self) -> int:
        """Stop the worker and all it has started, wherever it hid them; no more if it is gone.

        The holder of the process namespace does it, since no group or session reaches beyond that namespace. Where
        there is none, only the worker's own process group stops.

        Returns:
            When it had stopped, in ns of `time.perf_counter_ns`: when it was told to, and later by as long as some of
            it may have run on. That is no longer than until all was still, and no longer than the processor time
            used. Whose clocks nobody has read at that moment, all but the worker, may have used theirs then since
            they were stopped last; and if processes or threads have come or gone since, those that have ended may
            have done so.
        """
        self.halt()
        halted = time.perf_counter_ns()
        worker = Pursuit(self.pid)
        others_before = self._others_ns
        self._before, self._still = self._still, self._holder.running(b"stop", worker.look)
        ran_ns, used_ns = worker.ran_ns(halted)
        if self._still.processes < 0:
            return halted + ran_ns
        self._others_ns = self._still.used_ns - used_ns
        others_ran_ns = max(self._still.at_ns - halted, 0)
        if self._still.same_family(self._before):
            others_ran_ns = min(others_ran_ns, max(self._others_ns - others_before, 0))
        return halted + ran_ns + others_ran_ns

    def used_between_stops(self) -> int | None:
        """Processor time in ns that the worker and all it has started used between the last two calls of `freeze`.

        None where nobody can tell, or where processes or threads have come or gone: the time of those is in no sum.
        """
        return self._still.used_ns - self._before.used_ns if self._still.same_family(self._before) else None

    def ran_while_stopped(self) -> str:
        """In words, if the worker or anything it has started has run since `freeze`; empty if nothing has."""
        if not self._frozen or self._still.processes < 0:
            return ""
        return ran_since(self._still, lambda: self._holder.running(b"tell"))

    def alive(self) -> bool:
        """Whether it has not ended."""
        return self._reaper.status() is None

    def thaw(self) -> None:
        """Let the worker's own process group go on, if it was stopped; what left the group stays stopped."""
        if self._frozen:
            self._reaper.signal(signal.SIGCONT)
            self._frozen = False

    @property
    def pid(self) -> int:
        """Its number, as this process and the driver see it."""
        return self._reaper.pid

    def libraries(self) -> set[str]:
        """Paths of the files whose code the worker has mapped, as the kernel tells; empty where it does not."""
        try:
            lines = Path(f"/proc/{self.pid}/maps").read_text(errors="replace").splitlines()
        except OSError:
            return set()
        fields = (line.split(maxsplit=5) for line in lines)
        return {each[5] for each in fields if len(each) == 6 and "x" in each[1] and each[5].startswith("/")}

    def kill(self) -> None:
        """End the worker now; inside a process namespace all it started ends with it."""
        self._reaper.kill()

    def finish(self, seconds: float) -> None:
        """Hang up, and give the worker that long to end by itself; raises WorkerTimedOut if it does not."""
        self._channel.shutdown(socket.SHUT_WR)
        if not self._reaper.reports_within(seconds):
            self.kill()
            raise WorkerTimedOut
        self._reaper.wait(1.0)

    def log(self) -> str:
        """The end of what the worker printed."""
        start = max(0, os.fstat(self._log).st_size - _LOG_BYTES)
        return os.pread(self._log, _LOG_BYTES, start).decode(errors="replace")

    def _gone(self) -> Exception:
        """Why the channel has ended: the worker has, or it lives on without one."""
        alive = self.alive() and not self._reaper.reports_within(2.0)
        status = self._reaper.wait(0.1)
        return ChannelClosed() if alive else WorkerEnded(status)

    def await_end(self) -> None:
        """Wait until it is gone, which somebody must have asked for."""
        self._reaper.await_end()

    def close(self) -> None:
        """End the worker, wait until it is gone, delete its scratch folder."""
        with contextlib.suppress(MachineError, TimeoutError):
            self.kill()
        self._channel.close()
        self._holder.close()
        self.await_end()
        self._reaper.close()
        if self._log >= 0:
            os.close(self._log)
            self._log = -1
        delete(self.scratch)
        delete(self.given)

    def __enter__(self) -> WorkerProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

"""A sealed worker that has loaded and constructed one model, and the memory that it shares with the parent.

Whatever goes wrong in it is a `Failure` with an outcome of the record's vocabulary; what the machine does wrong (a
worker killed by somebody else) is a `MachineError`.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelgauge.backends.registry import backend_named
from kernelgauge.checks.memory_plan import USUAL, MemoryPlan
from kernelgauge.config import MathMode
from kernelgauge.errors import MachineError, OutOfDeviceMemory
from kernelgauge.evaluation.failures import Failure, claimed_failure, explain_end
from kernelgauge.evaluation.sides.build_files import Unfit, copy_build
from kernelgauge.evaluation.sides.prefork import PreforkPool, await_device, kind_of
from kernelgauge.evaluation.sides.shared_buffers import SharedBuffers
from kernelgauge.sandbox.process import WorkerProcess
from kernelgauge.sandbox.worker_errors import WORKER_FAILURES
from kernelgauge.sandbox.zygote_client import Zygote, worker_device
from kernelgauge.schema import Outcome
from kernelgauge.wire.candidate_commands import CANDIDATE_FILE, Construct, DigestParameters, Load, PeakMemory, Trim
from kernelgauge.wire.commands import Attach, Command, Detach
from kernelgauge.wire.initialisers import Randomise
from kernelgauge.wire.messages import Claim, TensorSpec
from kernelgauge.wire.regions import Region
from kernelgauge.wire.shared_memory import memory_handles

_SHORT_ANSWER_SECONDS = 5.0


@dataclass(frozen=True)
class Source:
    """What a side runs: a text, the class in it, its backend, and the folder of its build if it has one."""

    text: str
    attribute: str
    backend: str
    build_dir: Path | None = None
    lent: tuple[str, ...] = ()
    """Import statements that its namespace begins with; see `checks.stand_alone`."""


class ModelWorker:
    """A sealed worker with one model; `Side` has it run on inputs.

    Args:
        trusted: whether the source is the problem's own: its outputs need not be taken out of its reach.
        prefork_pool: where to take its process from.
        plan: how memory is shared out.
    """

    def __init__(
        self,
        zygote: Zygote,
        source: Source,
        device: str,
        trusted: bool = False,
        prefork_pool: PreforkPool | None = None,
        plan: MemoryPlan = USUAL,
    ):
        self._zygote = zygote
        self._prefork_pool = prefork_pool or PreforkPool(zygote)
        self._source = source
        self._device = device
        self._trusted = trusted
        self.limits = zygote.settings.limits
        self.process: WorkerProcess
        self.opened_s: float | None = None
        """What importing and constructing have taken; None before."""
        self.first_call_s: float | None = None
        """What the first call has taken, with whatever compiled and tuned in it; None before it has ended."""
        self._plan = plan
        self.buffers = SharedBuffers(device, trusted, plan)

    def start(self) -> None:
        """Fork the worker and have it start its device, without waiting for that."""
        backend = backend_named(self._source.backend)
        environment = backend.environment(self._device, Path("{scratch}"))
        preload = backend.preload(self._source.text, self._device)
        self.process = self._started(environment, preload)

    def goes_on(self) -> None:
        """It serves another pair, or another follows soon: a process of this kind is needed once more."""
        self._prefork_pool.expect(self._kind)

    def open(
        self,
        init: Any,
        seed: int,
        randomise: Randomise | None,
        math: MathMode,
        state: bytes | None = None,
        beside: ModelWorker | None = None,
    ) -> None:
        """In the worker started before, load the source and construct the model.

        Args:
            state: parameters to load into the model, as `torch.save` writes them.
            beside: the reference's worker, which opens meanwhile or has: what takes much longer is a hang.

        Raises:
            Failure: `load_failed`, `timed_out`, `out_of_memory` or `runtime_error` of this source.
            MachineError: the device could not be started, for another reason than its memory.
        """
        try:
            await_device(self.process, self._device, self.limits.load_seconds)
        except OutOfDeviceMemory as error:
            raise Failure(Outcome.OUT_OF_MEMORY, str(error)) from error
        self.before_loading()
        scratch = self.process.scratch
        path = scratch / CANDIDATE_FILE
        path.write_text(self._source.text)
        state_path = None
        if state is not None:  # written before the candidate can put a link in its place
            state_path = str(scratch / "state.pt")
            Path(state_path).write_bytes(state)
        build_dir = self._bring_build()
        source, built = self._source, str(build_dir) if build_dir else None
        load = Load(str(path), source.backend, source.attribute, built, list(source.lent))
        limit, began = self.limits.load_seconds, time.monotonic()

        def idle() -> float:
            """Until the reference is open, nobody knows how long that takes."""
            own = None if beside is None else beside.opened_s
            if own is None:
                return limit
            return min(limit, max(self.limits.opening_hang_seconds, self.limits.hang_times * own))

        self.ask(load, limit, idle=idle)
        device = worker_device(self._device)
        construct = Construct(source.attribute, init, seed, randomise, math, device, state_path, self._plan.tight)
        self.ask(construct, limit, idle=idle)
        self.opened_s = time.monotonic() - began

    def before_loading(self) -> None:
        """What a worker is told before anything of its source runs."""

    def _bring_build(self) -> Path | None:
        """A copy of the candidate's build where its worker may read it: the cache holds others' builds too."""
        if self._source.build_dir is None:
            return None
        target = self.process.given / "build"
        try:
            copy_build(self._source.build_dir, target)
        except Unfit as error:
            raise Failure(Outcome.LOAD_FAILED, f"load: {error}") from error
        return target

    def _started(self, environment: dict[str, str], preload: tuple[str, ...]) -> WorkerProcess:
        """A process that answers as `evaluation.worker` does, and on a GPU is starting that."""
        self._kind = kind_of("worker", self._device, environment, preload)
        return self._prefork_pool.take(self._kind)

    def attach(self, input_bytes: int, expected: Sequence[TensorSpec]) -> None:
        """Share both regions with the worker; raises as `attach_inputs` does."""
        self.attach_inputs(input_bytes)
        self.attach_outputs(expected)

    def attach_inputs(self, size: int) -> None:
        """Share a region of so many bytes for inputs with the worker.

        Raises:
            Failure: the worker cannot open it.
            OSError, OutOfDeviceMemory: there is no memory for it.
        """
        self._hand_over("inputs", self.buffers.make_inputs(size))

    def attach_outputs(self, expected: Sequence[TensorSpec]) -> None:
        """Share a region for these outputs with the worker; raises as `attach_inputs` does."""
        region = self.buffers.make_outputs(expected)
        self._hand_over("outputs", region, [spec.model_dump() for spec in expected])

    def share(self, name: str, size: int) -> Region:
        """A further region of so many bytes, which the worker opens under that name; raises as `attach_inputs`.

        It is stopped afterwards: somebody else may be timed.
        """
        self.check_still()
        region = self.buffers.make_further(size)
        self.process.thaw()
        self._hand_over(name, region)
        self.process.freeze()
        return region

    def _hand_over(self, name: str, region: Region, expected: Sequence[dict[str, Any]] = ()) -> None:
        if self._device == "cpu":
            self.process.usage.lent_bytes += region.size
        messages, descriptors = memory_handles([region])
        self.ask(Attach(name, messages, list(expected), descriptors=descriptors), self.limits.load_seconds)

    def check_still(self) -> None:
        """Refuse a worker that has run since it was stopped; nothing if it was not stopped.

        Raises:
            Failure: `rejected`, rule `ran_while_stopped`.
        """
        if not self._trusted and (ran := self.process.ran_while_stopped()):
            reason = f"it went on while it was stopped, beside a call or before its own: {ran}"
            raise Failure(Outcome.REJECTED, reason, "ran_while_stopped")

    def trim(self) -> None:
        """Have the worker give back device memory that it keeps for later calls, and the parent its own."""
        self.process.thaw()
        self.ask(Trim(), self.limits.call_seconds)
        self.buffers.let_go()

    def trim_between_calls(self) -> None:
        """As `trim`; it is stopped afterwards, as it may have been before."""
        self.check_still()
        self.trim()
        self.process.freeze()

    def give_back_inputs(self) -> None:
        """Have the region of inputs closed at both ends, until `attach_inputs` makes another one."""
        self.ask(Detach("inputs"), self.limits.call_seconds)
        if self._device == "cpu" and self.buffers.inputs is not None:
            self.process.usage.lent_bytes -= self.buffers.inputs.size
        self.buffers.close_inputs()

    @property
    def looks(self) -> bool:
        """Whether the parent can see what this worker has computed before it is copied out."""
        return self._device == "cpu" and self.process.readable

    def ask(
        self,
        command: Command,
        seconds: float,
        then: Callable[[], None] | None = None,
        idle: Callable[[], float] | None = None,
    ) -> Claim:
        """One command and its answer, with everything that can go wrong turned into a `Failure`; see
        `WorkerProcess.ask`."""
        try:
            claim = self.process.ask(command, seconds, then, idle)
        except WORKER_FAILURES as error:
            raise explain_end(command.stage, seconds, error, self.process.log()) from error
        if claim.event == "failed":
            raise claimed_failure(command.stage, claim)
        return claim

    def digest_parameters(self, values: bool) -> str:
        """Its own word on its parameters; see `parameters.parameter_digest`. Empty if it does not say."""
        with contextlib.suppress(Failure, MachineError):
            self.process.thaw()
            return str(self.ask(DigestParameters(values), self.limits.call_seconds).data.get("digest", ""))
        return ""

    def claimed_peak(self) -> int | None:
        """The most memory that PyTorch has given out in the worker: its own word; None if it does not say."""
        with contextlib.suppress(Failure, MachineError):
            self.process.thaw()
            said = self.ask(PeakMemory(), _SHORT_ANSWER_SECONDS).data.get("peak_bytes")
            if isinstance(said, int) and 0 <= said < 2**50:
                return said
        return None

    def end(self) -> None:
        """Have the worker end, without waiting for that."""
        if hasattr(self, "process"):
            self.process.kill()

    def close(self) -> None:
        """End the worker and give its memory back."""
        if hasattr(self, "process"):
            self.process.close()
        self.buffers.close()

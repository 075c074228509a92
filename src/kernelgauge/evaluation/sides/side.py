"""One of the two sides of a comparison: a sealed worker with its regions. Reference and candidate alike.

Whatever goes wrong on a side is a `Failure` with an outcome of the record's vocabulary; what the machine does wrong
(a worker killed by somebody else) is a `MachineError`.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelgauge.backends.registry import backend_named
from kernelgauge.config import MathMode
from kernelgauge.errors import MachineError, OutOfDeviceMemory
from kernelgauge.evaluation.failures import Failure, claimed_failure, explain_end
from kernelgauge.evaluation.sides.build_files import Unfit, copy_build
from kernelgauge.evaluation.sides.prefork import Spares, await_device, kind_of
from kernelgauge.evaluation.sides.shared_buffers import Staging
from kernelgauge.sandbox.process import WorkerProcess
from kernelgauge.sandbox.spot_check import Glimpse, glimpse, lie_in
from kernelgauge.sandbox.worker_errors import WORKER_FAILURES
from kernelgauge.sandbox.zygote_client import Zygote, worker_device
from kernelgauge.schema import Outcome
from kernelgauge.wire.messages import MOST_SAMPLES, Claim, TensorSpec
from kernelgauge.wire.regions import HostRegion, Region
from kernelgauge.wire.shared_memory import tickets

# Two clocks may differ by this factor over a call.
_CLOCKS_AGREE = 1.01
# Of the limit of one call, what each of many may take.
_SAMPLE_SHARE = 0.1
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


@dataclass(frozen=True)
class Call:
    """One forward as the parent saw it."""

    computed_ns: int
    """From `go` until the worker said that it had computed, on the parent's clock."""
    drain_ns: int
    """Until the device had then done something for the parent: at once, if the worker left it idle; 0 on a CPU."""
    copy_ns: int
    """From the order to copy until the outputs were in the region: nothing but a copy, if that was true."""
    claim: Claim
    staged_ns: int = 0
    """From letting the worker go on until it said that it was ready for the call."""


class Side:
    """A sealed worker that has loaded and constructed one model and runs it on inputs the parent stages.

    Args:
        trusted: whether the source is the problem's own: its outputs need not be taken out of its reach.
        spares: where to take its process from.
    """

    def __init__(
        self, zygote: Zygote, source: Source, device: str, trusted: bool = False, spares: Spares | None = None
    ):
        self._zygote = zygote
        self._spares = spares or Spares(zygote)
        self._source = source
        self._device = device
        self._trusted = trusted
        self.limits = zygote.settings.limits
        self.process: WorkerProcess
        self.first_call_s: float | None = None
        """What the first call has taken, with whatever compiled and tuned in it; None before it has ended."""
        self.staging = Staging(device, trusted)
        self._seed = 0
        self._staged_ns = 0

    def start(self) -> None:
        """Fork the worker and have it start its device, without waiting for that."""
        backend = backend_named(self._source.backend)
        environment = backend.environment(self._device, Path("{scratch}"))
        preload = backend.preload(self._source.text, self._device)
        self.process = self._started(environment, preload)

    def open(self, init: Any, seed: int, randomise: bool, math: MathMode, state: bytes | None = None) -> None:
        """In the worker started before, load the source and construct the model.

        Args:
            state: parameters to load into the model, as `torch.save` writes them.

        Raises:
            Failure: `load_failed`, `timed_out`, `out_of_memory` or `runtime_error` of this source.
            MachineError: the device could not be started, for another reason than its memory.
        """
        try:
            await_device(self.process, self._device, self.limits.load_seconds)
        except OutOfDeviceMemory as error:
            raise Failure(Outcome.OUT_OF_MEMORY, str(error)) from error
        scratch = self.process.scratch
        path = scratch / "candidate.py"
        path.write_text(self._source.text)
        state_path = None
        if state is not None:  # written before the candidate can put a link in its place
            state_path = str(scratch / "state.pt")
            Path(state_path).write_bytes(state)
        build_dir = self._bring_build()
        self.ask(
            "load",
            self.limits.load_seconds,
            "loaded",
            path=str(path),
            backend=self._source.backend,
            build_dir=str(build_dir) if build_dir else None,
            attribute=self._source.attribute,
            lent=list(self._source.lent),
        )
        self.ask(
            "construct",
            self.limits.load_seconds,
            "constructed",
            attribute=self._source.attribute,
            init=init,
            seed=seed,
            randomise=randomise,
            math=math,
            device=worker_device(self._device),
            state=state_path,
        )

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
        return self._spares.take(kind_of("worker", self._device, environment, preload))

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
        self._hand_over("inputs", self.staging.make_inputs(size))

    def attach_outputs(self, expected: Sequence[TensorSpec]) -> None:
        """Share a region for these outputs with the worker; raises as `attach_inputs` does."""
        region = self.staging.make_outputs(expected)
        self._hand_over("outputs", region, expected=[spec.model_dump() for spec in expected])

    def share(self, name: str, size: int) -> Region:
        """A further region of so many bytes, which the worker opens under that name; raises as `attach_inputs`.

        It is stopped afterwards: somebody else may be timed.
        """
        self.check_still()
        region = self.staging.make_further(size)
        self.process.thaw()
        self._hand_over(name, region)
        self.process.freeze()
        return region

    def _hand_over(self, name: str, region: Region, **fields: Any) -> None:
        if self._device == "cpu":
            self.process.holdings.lent_bytes += region.size
        messages, descriptors = tickets([region])
        self.ask(
            "attach",
            self.limits.load_seconds,
            "staged",
            name=name,
            regions=messages,
            descriptors=descriptors,
            **fields,
        )

    def stage(self, arguments: list[Any], master: Region, seed: int, stop: bool = False) -> None:
        """Make the worker ready for the next call, put its inputs in place, spoil the output region.

        The worker learns only shapes and scalars before the inputs arrive, and the seed with the call.

        Args:
            stop: stop the worker until the call, so that it cannot see the inputs before.
        """
        self.check_still()
        start = time.perf_counter_ns()

        def ready() -> None:
            self._staged_ns = time.perf_counter_ns() - start
            if stop:
                self.process.halt()

        self.process.thaw()
        self.ask("stage", self.limits.call_seconds, "staged", then=ready, arguments=arguments)
        self._seed = seed
        if stop:
            self.process.freeze()
        self.staging.fill(master)
        self.check_still()

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
        self.ask("trim", self.limits.call_seconds, "staged")
        self.staging.let_go()

    def limit_of(self, calls: float) -> float:
        """Seconds that so many calls may take together; the first in its process may take longer."""
        limits = self.limits
        more = 0.0 if self.first_call_s is not None else max(0.0, limits.first_call_seconds - limits.call_seconds)
        return limits.call_seconds * calls + more

    def call(self, timer: str = "host_time", look: bool = False) -> Call:
        """Run forward once on the staged inputs; the clock is the parent's.

        A stopped worker is continued once the clock runs: before that it cannot have seen the inputs.

        Args:
            timer: how the worker times itself.
            look: once it says that it has computed, stop it and see for ourselves (where its memory can be read).

        Raises:
            Failure: the call went wrong; shapes and values are not looked at here.
        """
        process, limit = self.process, self.limit_of(1)
        spin = self._device != "cpu"
        look = look and self.looks
        try:
            start = time.perf_counter_ns()
            process.tell("forward", timer=timer, seed=self._seed)
            process.thaw()
            first = process.receive_raw(limit, spin, idle=self.limits.call_seconds)
            computed = time.perf_counter_ns()
            if look:
                computed = process.freeze()  # what ran on counts as well
            if (said := process.parse(first, "computed")).event == "failed":
                raise claimed_failure("forward", said)
            drained = computed
            if spin:
                reaching = time.perf_counter_ns()
                self.staging.reach_device()
                drained += time.perf_counter_ns() - reaching
            seen = self._glimpse(said) if look else None
            aliases = seen is not None and self._lie_in_inputs(said)
            copying = time.perf_counter_ns()
            process.tell("copy")
            process.thaw()
            second = process.receive_raw(self.limits.call_seconds, spin)
            if spin:  # what a worker has only queued on the GPU must not be finished while nobody counts
                self.staging.snapshot()
            done = time.perf_counter_ns()
            if look:  # what follows takes the parent a while, in which nobody is to prepare the next call
                process.halt()
            claim = process.parse(second, "done")
        except WORKER_FAILURES as error:
            raise explain_end("forward", self.limits.call_seconds, error, process.log()) from error
        if self.first_call_s is None:
            self.first_call_s = (computed - start) / 1e9
        if claim.event == "failed":
            raise claimed_failure("forward", claim)
        if claim.forward_ns > (computed - start) * _CLOCKS_AGREE:
            raise Failure(Outcome.REJECTED, "forward: claims to have taken longer than it did", "forged_time")
        if look:
            self._check_handover(seen, claim)
            if aliases:
                claim = claim.model_copy(update={"aliases_input": True})
        return Call(computed - start, drained - computed, done - copying, claim, self._staged_ns)

    @property
    def looks(self) -> bool:
        """Whether the parent can see what this worker has computed before it is copied out."""
        return self._device == "cpu" and self.process.readable

    def _glimpse(self, claim: Claim) -> Glimpse | None:
        found = glimpse(self.process.pid, claim.places, self.staging.expected)
        self.check_still()
        return found

    def _lie_in_inputs(self, claim: Claim) -> bool:
        """Whether outputs lie in the memory of the inputs, as the kernel tells; the worker says what it likes."""
        region = self.staging.inputs
        if self._trusted or not isinstance(region, HostRegion):
            return False
        return lie_in(self.process.pid, claim.places, self.staging.expected, region.descriptor)

    def _check_handover(self, seen: Glimpse | None, claim: Claim) -> None:
        """Refuse outputs that were not there yet when the worker said that it had computed."""
        due = [(spec.shape, spec.dtype) for spec in self.staging.expected]
        if not claim.copied or [(spec.shape, spec.dtype) for spec in claim.tensors] != due:
            return  # wrong in another way, which is said elsewhere
        assert self.staging.outputs is not None
        if seen is None or not seen.agrees_with(self.staging.outputs):
            reason = "forward: said that it had computed, but its outputs were not there yet"
            raise Failure(Outcome.REJECTED, reason, "late_output")

    def samples(self, timer: str, warmups: int, count: int) -> list[float]:
        """Milliseconds per call by a timer that runs in the worker: its word alone.

        Raises:
            Failure: a call went wrong, or what came up are no times.
        """
        limit = self.limit_of(1 + _SAMPLE_SHARE * (warmups + count))
        order = {"timer": timer, "warmups": warmups, "count": count, "seed": self._seed}
        claim = self.ask("samples", limit, "done", **order)
        said = claim.data.get("samples_ms")
        taken = [ms for ms in said if isinstance(ms, float) and 0 < ms < 1e9] if isinstance(said, list) else []
        if not isinstance(said, list) or len(taken) != len(said) or not 2 <= len(taken) <= MOST_SAMPLES:
            raise Failure(Outcome.REJECTED, "forward: forged message: times that are none", "forged_message")
        return taken

    def ask(self, do: str, seconds: float, answer: str, **fields: Any) -> Claim:
        """One command and its answer, with everything that can go wrong turned into a `Failure`."""
        try:
            claim = self.process.ask(do, seconds, answer, **fields)
        except WORKER_FAILURES as error:
            raise explain_end(do, seconds, error, self.process.log()) from error
        if claim.event == "failed":
            raise claimed_failure(do, claim)
        return claim

    def claimed_peak(self) -> int | None:
        """The most memory that PyTorch has given out in the worker: its own word; None if it does not say."""
        with contextlib.suppress(Failure, MachineError):
            self.process.thaw()
            said = self.ask("memory", _SHORT_ANSWER_SECONDS, "done").data.get("peak_bytes")
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
        self.staging.close()

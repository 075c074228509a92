"""One of the two sides of a comparison: a sealed worker with its regions. Reference and candidate alike.

Whatever goes wrong on a side is a `Failure` with an outcome of the record's vocabulary; what the machine does wrong
(a worker killed by somebody else) is a `MachineError`.
"""

from __future__ import annotations

import secrets
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from kernelgauge.backends.registry import backend_named
from kernelgauge.errors import MachineError
from kernelgauge.evaluation.channel import Claim, TensorSpec
from kernelgauge.evaluation.launcher import Zygote
from kernelgauge.evaluation.process import WORKER_FAILURES, ChannelClosed, WorkerEnded, WorkerProcess, WorkerTimedOut
from kernelgauge.evaluation.regions import Region, size_of
from kernelgauge.schema import Outcome

_MEMORY_VIOLATIONS = {int(signal.SIGSEGV): "segmentation fault", int(signal.SIGBUS): "bus error"}


class Failure(Exception):
    """What a side did wrong: an outcome, one sentence, and what was printed where that says more."""

    def __init__(self, outcome: Outcome, reason: str, rule: str | None = None, log: str = ""):
        super().__init__(reason)
        self.outcome, self.reason, self.rule, self.log = outcome, reason, rule, log


class WorkerKilled(MachineError):
    """A worker got SIGKILL from somebody else; at a second time, nothing says that it was not its own doing."""


@dataclass(frozen=True)
class Source:
    """What a side runs: a text, the class in it, its backend, and the folder of its build if it has one."""

    text: str
    attribute: str
    backend: str
    build_dir: Path | None = None


@dataclass(frozen=True)
class Call:
    """One forward as the parent saw it."""

    computed_ns: int
    """From `go` until the worker said that it had computed, on the parent's clock."""
    copy_ns: int
    """From the order to copy until the outputs were in the region: nothing but a copy, if that was true."""
    claim: Claim


def last_line(text: str) -> str:
    """The line of a traceback that says what happened."""
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return lines[-1].strip()[:500] if lines else "no message"


def _ended(stage: str, status: int, log: str) -> Failure:
    if status >= 0:
        return Failure(Outcome.RUNTIME_ERROR, f"{stage}: the process ended by itself with exit status {status}")
    number = -status
    if number in _MEMORY_VIOLATIONS:
        return Failure(Outcome.RUNTIME_ERROR, f"{stage}: memory violation ({_MEMORY_VIOLATIONS[number]})")
    if number == signal.SIGKILL:
        raise WorkerKilled(f"a worker was killed from outside during {stage}")
    if number == signal.SIGABRT and "bad_alloc" in log:
        return Failure(Outcome.OUT_OF_MEMORY, f"{stage}: out of memory (std::bad_alloc)")
    # Most real-time signals have a number and no name.
    name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
    return Failure(Outcome.RUNTIME_ERROR, f"{stage}: the process was ended by {name}")


def explain_end(stage: str, seconds: float, error: Exception, log: str) -> Failure:
    """The failure behind a worker that gave no answer; raises WorkerKilled if somebody else killed it."""
    if isinstance(error, ChannelClosed):
        return Failure(Outcome.RUNTIME_ERROR, f"{stage}: closed its channel to the parent")
    if isinstance(error, WorkerTimedOut):
        return Failure(Outcome.TIMED_OUT, f"{stage}: no answer within {seconds:g} s")
    if isinstance(error, WorkerEnded):
        return _ended(stage, error.status, log)
    return Failure(Outcome.REJECTED, f"{stage}: forged message: {error}", "forged_message")


class Side:
    """A sealed worker that has loaded and constructed one model and runs it on inputs the parent stages."""

    def __init__(self, zygote: Zygote, source: Source, device: str):
        self._zygote = zygote
        self._source = source
        self._device = device
        self._limits = zygote.settings.limits
        self.process: WorkerProcess
        self.inputs: Region | None = None
        self.outputs: Region | None = None
        self.expected: list[TensorSpec] = []
        self.views: list[torch.Tensor] = []
        self.kept: list[torch.Tensor] = []

    def open(self, init: Any, seed: int, randomise: bool, ieee: bool, state: bytes | None = None) -> None:
        """Fork the worker, load the source, construct the model; with `state`, load these parameters into it.

        Raises:
            Failure: `load_failed`, `timed_out`, `out_of_memory` or `runtime_error` of this source.
        """
        backend = backend_named(self._source.backend)
        environment = backend.environment(self._device, Path("{scratch}"))
        preload = backend.preload(self._source.text, self._device)
        self.process = WorkerProcess(self._zygote, "worker", self._device, environment, preload=preload)
        scratch = self.process.scratch
        path = scratch / "candidate.py"
        path.write_text(self._source.text)
        state_path = None
        if state is not None:  # written before the candidate can put a link in its place
            state_path = str(scratch / "state.pt")
            Path(state_path).write_bytes(state)
        build_dir = self._source.build_dir
        self.ask(
            "load",
            self._limits.load_seconds,
            "loaded",
            path=str(path),
            backend=self._source.backend,
            build_dir=str(build_dir) if build_dir else None,
            attribute=self._source.attribute,
        )
        self.ask(
            "construct",
            self._limits.load_seconds,
            "constructed",
            attribute=self._source.attribute,
            init=init,
            seed=seed,
            randomise=randomise,
            ieee=ieee,
            device=self._device,
            state=state_path,
        )

    def attach(self, input_bytes: int, expected: Sequence[TensorSpec]) -> None:
        """Share input and output regions with the worker."""
        self._forget_regions()
        self.expected = list(expected)
        self.inputs = Region.create(input_bytes)
        self.outputs = Region.create(size_of(self.expected))
        self.views = self.outputs.tensors(self.expected)
        self.kept = [torch.empty_like(view) for view in self.views]
        self.ask(
            "attach",
            self._limits.load_seconds,
            "staged",
            descriptors=[self.inputs.descriptor, self.outputs.descriptor],
            sizes=[self.inputs.size, self.outputs.size],
            expected=[spec.model_dump() for spec in self.expected],
        )

    def stage(self, arguments: list[Any], master: Region, seed: int, stop: bool = False) -> None:
        """Make the worker ready for the next call, put its inputs in place, spoil the output region.

        On a CPU the worker learns only shapes, scalars and seed before the inputs arrive. On a GPU it has to upload
        them, so they arrive first, and the upload is not timed.

        Args:
            stop: stop the worker until the call, so that on a CPU it cannot see the inputs before.
        """
        self.process.thaw()
        on_gpu = self._device.startswith("cuda")
        if on_gpu:
            self._fill(master)
        self.ask("stage", self._limits.call_seconds, "staged", arguments=arguments, seed=seed)
        if not on_gpu:
            if stop:
                self.process.freeze()
            self._fill(master)

    def _fill(self, master: Region) -> None:
        assert self.inputs is not None and self.outputs is not None
        self.inputs.bytes.copy_(master.bytes[: self.inputs.size])
        self.outputs.bytes.view(torch.int64).fill_(secrets.randbits(62))

    def call(self, watch: bool = False) -> Call:
        """Run forward once on the staged inputs; the clock is the parent's.

        A stopped worker is continued once the clock runs: before that it cannot have seen the inputs.

        Args:
            watch: have the worker look for aliasing too.

        Raises:
            Failure: the call went wrong; shapes and values are not looked at here.
        """
        process = self.process
        try:
            start = time.perf_counter_ns()
            process.tell("forward", watch=watch)
            process.thaw()
            first = process.receive_raw(self._limits.call_seconds)
            computed = time.perf_counter_ns()
            if (said := process.parse(first, "computed")).event == "failed":
                raise self._failed("forward", said)
            copying = time.perf_counter_ns()
            process.tell("copy")
            second = process.receive_raw(self._limits.call_seconds)
            done = time.perf_counter_ns()
            claim = process.parse(second, "done")
        except WORKER_FAILURES as error:
            raise explain_end("forward", self._limits.call_seconds, error, process.log()) from error
        if claim.event == "failed":
            raise self._failed("forward", claim)
        return Call(computed - start, done - copying, claim)

    def snapshot(self) -> list[torch.Tensor]:
        """A copy of the outputs the worker has written, out of its reach; the next snapshot overwrites it."""
        for kept, view in zip(self.kept, self.views, strict=True):
            kept.copy_(view)
        return self.kept

    def inputs_equal(self, master: Region) -> bool:
        """Whether the inputs still are what was staged."""
        assert self.inputs is not None
        size = min(self.inputs.size, master.size)
        return torch.equal(self.inputs.bytes[:size], master.bytes[:size])

    def ask(self, do: str, seconds: float, answer: str, **fields: Any) -> Claim:
        """One command and its answer, with everything that can go wrong turned into a `Failure`."""
        try:
            claim = self.process.ask(do, seconds, answer, **fields)
        except WORKER_FAILURES as error:
            raise explain_end(do, seconds, error, self.process.log()) from error
        if claim.event == "failed":
            raise self._failed(do, claim)
        return claim

    def _failed(self, stage: str, claim: Claim) -> Failure:
        text = last_line(claim.message)
        if claim.kind == "OutOfMemory":
            return Failure(Outcome.OUT_OF_MEMORY, f"{stage}: {text}")
        outcome = Outcome.LOAD_FAILED if stage in ("load", "construct") else Outcome.RUNTIME_ERROR
        return Failure(outcome, f"{stage}: {text}")

    def close(self) -> None:
        """End the worker and give its memory back."""
        if hasattr(self, "process"):
            self.process.close()
        self._forget_regions()

    def _forget_regions(self) -> None:
        for region in (self.inputs, self.outputs):
            if region is not None:
                region.close()
        self.views, self.kept = [], []
        self.inputs = self.outputs = None

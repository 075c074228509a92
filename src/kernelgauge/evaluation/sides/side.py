"""One of the two sides of a comparison, reference or candidate: its worker is called by the clock of the parent."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from kernelgauge.backends.registry import backend_named
from kernelgauge.evaluation.failures import Failure, claimed_failure, explain_end
from kernelgauge.evaluation.sides.model_worker import ModelWorker
from kernelgauge.sandbox.spot_check import OutputSample, lie_in, sample_outputs
from kernelgauge.sandbox.worker_errors import WORKER_FAILURES
from kernelgauge.schema import Outcome
from kernelgauge.timing.timers import timer_named
from kernelgauge.wire.candidate_commands import (
    Copy,
    Forward,
    Stage,
    TakeSamples,
)
from kernelgauge.wire.messages import MOST_SAMPLES, Claim
from kernelgauge.wire.regions import HostRegion, Region

# Two clocks may differ by this factor over a call.
_CLOCKS_AGREE = 1.01
# Of the limit of one call, what each of many may take.
_SAMPLE_SHARE = 0.1


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
    """From letting the worker go on until it said that it was ready for the call; no more than the processor time
    that it used then, as it may have waited for a core."""


class Side(ModelWorker):
    """A worker that runs its model on inputs the parent stages; the clock is the parent's."""

    slowest_s = 0.0
    """The longest call so far; the first, in which libraries start, only as long as there is no other."""
    _seed = 0
    _staged_ns = 0
    _reference_s = 0.0
    _calls = 0

    def allow(self, reference_s: float) -> None:
        """Take a call for a hang that lasts much longer than the reference's slowest one; see `Limits`.

        Args:
            reference_s: 0 where it has not been called yet: then nothing changes.
        """
        self._reference_s = reference_s or self._reference_s

    @property
    def hang_seconds(self) -> float:
        """After so long without any sign of a compiler, a call is taken for a hang."""
        limits = self.limits
        if not self._reference_s:
            return limits.call_seconds
        return min(limits.call_seconds, max(limits.hang_seconds, limits.hang_times * self._reference_s))

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
        self.ask(Stage(arguments), self.limits.call_seconds, ready)
        self._seed = seed
        if stop:
            self.process.freeze()
            used = self.process.used_between_stops()
            self._staged_ns = self._staged_ns if used is None else min(self._staged_ns, used)
        self.buffers.fill(master)
        self.check_still()

    def limit_of(self, calls: float) -> float:
        """Seconds that so many calls may take together; the first in its process may take longer."""
        limits = self.limits
        more = 0.0 if self.first_call_s is not None else max(0.0, limits.first_call_seconds - limits.call_seconds)
        return limits.call_seconds * calls + more

    def _idle_seconds(self) -> float:
        """How long a call may leave no files behind: what compiles in its first one may take a while for each."""
        if self.first_call_s is not None:
            return self.hang_seconds
        source = self._source
        compiled = backend_named(source.backend).compiled_all(source.text, source.build_dir)
        return self.hang_seconds if compiled else self.limits.call_seconds

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
        forward = Forward(timer, self._seed)
        try:
            start = time.perf_counter_ns()
            process.tell(forward)
            process.thaw()
            first = process.receive_raw(limit, spin, idle=self._idle_seconds)
            computed = time.perf_counter_ns()
            if look:
                computed = process.freeze()  # what ran on counts as well
            if (said := process.parse(first, Forward.answer)).event == "failed":
                raise claimed_failure("forward", said)
            drained = computed
            if spin:
                reaching = time.perf_counter_ns()
                self.buffers.reach_device()
                drained += time.perf_counter_ns() - reaching
            seen = self._sample_outputs(said) if look else None
            aliases = seen is not None and self._lie_in_inputs(said)
            copying = time.perf_counter_ns()
            process.tell(Copy())
            process.thaw()
            second = process.receive_raw(self.limits.call_seconds, spin)
            if spin:  # what a worker has only queued on the GPU must not be finished while nobody counts
                self.buffers.snapshot()
            done = time.perf_counter_ns()
            if look:  # what follows takes the parent a while, in which nobody is to prepare the next call
                process.halt()
            claim = process.parse(second, Copy.answer)
        except WORKER_FAILURES as error:
            raise self._ended(error) from error
        self._took((computed - start) / 1e9)
        if claim.event == "failed":
            raise claimed_failure("forward", claim)
        if claim.forward_ns > (computed - start) * _CLOCKS_AGREE:
            raise Failure(Outcome.REJECTED, "forward: claims to have taken longer than it did", "forged_time")
        if look:
            self._check_sample(seen, claim)
            if aliases:
                claim = claim.model_copy(update={"aliases_input": True})
        if timer_named(timer).reuses_outputs:
            claim = claim.model_copy(update={"reuses_output": False})
        return Call(computed - start, drained - computed, done - copying, claim, self._staged_ns)

    def _took(self, seconds: float) -> None:
        self._calls += 1
        self.slowest_s = seconds if self._calls <= 2 else max(self.slowest_s, seconds)
        if self.first_call_s is None:
            self.first_call_s = seconds

    def _ended(self, error: Exception) -> Failure:
        failure = explain_end("forward", self.limits.call_seconds, error, self.process.log())
        if failure.outcome is Outcome.TIMED_OUT and self._reference_s:
            failure.reason += f"; the reference's slowest call took {self._reference_s:.3g} s"
        return failure

    def _sample_outputs(self, claim: Claim) -> OutputSample | None:
        found = sample_outputs(self.process.pid, claim.places, self.buffers.expected)
        self.check_still()
        return found

    def _lie_in_inputs(self, claim: Claim) -> bool:
        """Whether outputs lie in the memory of the inputs, as the kernel tells; the worker says what it likes."""
        region = self.buffers.inputs
        if self._trusted or not isinstance(region, HostRegion):
            return False
        return lie_in(self.process.pid, claim.places, self.buffers.expected, region.descriptor)

    def _check_sample(self, seen: OutputSample | None, claim: Claim) -> None:
        """Refuse outputs that were not there yet when the worker said that it had computed."""
        due = [(spec.shape, spec.dtype) for spec in self.buffers.expected]
        if not claim.copied or [(spec.shape, spec.dtype) for spec in claim.tensors] != due:
            return  # wrong in another way, which is said elsewhere
        assert self.buffers.outputs is not None
        if seen is None or not seen.agrees_with(self.buffers.outputs):
            reason = "forward: said that it had computed, but its outputs were not there yet"
            raise Failure(Outcome.REJECTED, reason, "late_output")

    def samples(self, timer: str, warmups: int, count: int) -> list[float]:
        """Milliseconds per call by a timer that runs in the worker: its word alone.

        Raises:
            Failure: a call went wrong, or what came up are no times.
        """
        limit = self.limit_of(1 + _SAMPLE_SHARE * (warmups + count))
        claim = self.ask(TakeSamples(timer, warmups, count, self._seed), limit)
        said = claim.data.get("samples_ms")
        taken = [ms for ms in said if isinstance(ms, float) and 0 < ms < 1e9] if isinstance(said, list) else []
        if not isinstance(said, list) or len(taken) != len(said) or not 2 <= len(taken) <= MOST_SAMPLES:
            raise Failure(Outcome.REJECTED, "forward: forged message: times that are none", "forged_message")
        return taken

"""One profile, from source to record: build, construct and stage as in an evaluation, then ask where the time goes.

The worker's answer is a claim like any other: parsed as plain data of limited size, names cleaned, shares computed
here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from kernelgauge.backends.registry import backend_named
from kernelgauge.config import MathMode, load_protocol
from kernelgauge.errors import MachineError, OutOfDeviceMemory, ProblemError
from kernelgauge.evaluation.build import Built
from kernelgauge.evaluation.failures import Failure, WorkerKilled
from kernelgauge.evaluation.hardware_counters import NoCounters, Profiled, count, path_of, tool_here
from kernelgauge.evaluation.rehearsal import Call
from kernelgauge.evaluation.sides.model_worker import Source
from kernelgauge.evaluation.sides.reference import Reference
from kernelgauge.evaluation.sides.side import Side
from kernelgauge.profiling.kernel_names import short_name
from kernelgauge.sandbox.zygote_client import Zygote, worker_device
from kernelgauge.schema import Candidate, Counters, Environment, Outcome, Problem, Profile, ProfileRow
from kernelgauge.wire.candidate_commands import ProfileForward

# Whose inputs and parameters are profiled: those that the default judgement times.
_PROTOCOL = "strict"
_SHOWN = 10
# A profile is five calls where they are long, each of which may take what a call may take, and their tracing.
_CALLS = 6

# Bounded, so that no sum of them is infinite.
_Amount = Annotated[float, Field(ge=0, le=1e15)]


class _ClaimedRow(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    name: str = Field(max_length=200)
    function: str = Field(max_length=200)
    calls: _Amount
    time_us: _Amount


class _Claimed(BaseModel):
    """What `timing.profiler.profiled` returns, as the worker tells it."""

    model_config = ConfigDict(extra="forbid", strict=True)
    wall_us: float = Field(gt=0, le=1e15)
    busy_us: _Amount | None
    rows_are: Literal["kernels", "operators"]
    forwards: int = Field(gt=0, le=1000)
    launches: _Amount
    peak_bytes: int = Field(ge=0, le=2**60)
    rows: list[_ClaimedRow] = Field(max_length=100)
    others: int = Field(ge=0, le=10**6)
    other_calls: _Amount
    other_us: _Amount

    @model_validator(mode="after")
    def _busy_with_kernels(self) -> _Claimed:
        if (self.busy_us is None) != (self.rows_are == "operators"):
            raise ValueError("the GPU's busy time goes with kernels")
        return self


@dataclass(frozen=True)
class Profiler:
    """Profiles candidates and references on one device of this machine.

    Args:
        build: compiles a candidate, or finds it built; raises Failure.
        counters: whether to ask ncu or rocprofv3 too, on a GPU.
        sealed: whether a candidate stays in its seal under that; the reference, trusted code, never is there.
        math: the arithmetic that both are told to compute in.
    """

    zygote: Zygote
    build: Callable[[Candidate, str, Call], Built]
    device: str
    environment: Environment
    counters: bool = True
    sealed: bool = True
    math: MathMode = "ieee"

    def profile(self, problem: Problem, candidate: Candidate | None) -> Profile:
        """The profile of a candidate, or of the problem's reference where there is none.

        What the candidate does wrong is in the record.

        Raises:
            ProblemError: the reference itself fails.
            MachineError: the machine failed.
        """
        facts: dict[str, Any] = {
            "problem": problem.key,
            "problem_name": problem.name,
            "problem_digest": problem.digest,
            "sizes": problem.sizes,
            "math": self.math,
            "backend": candidate.backend if candidate else "torch",
            "candidate_digest": candidate.digest if candidate else None,
            "device": worker_device(self.device),
            "environment": self.environment,
        }
        try:
            found = self._of_candidate(problem, candidate) if candidate else self._of_reference(problem)
        except Failure as failure:
            return Profile(**facts, outcome=failure.outcome, reason=failure.reason, log=failure.log)
        return Profile(**facts, **found)

    def _of_reference(self, problem: Problem) -> dict[str, Any]:
        source = Source(problem.source, "Model", "torch")
        try:
            with self._reference(problem) as reference:
                claimed = self._ask(reference.side, reference, named=False)
                counters, notes = self._counted(source, claimed, reference, sealed=False)
                return _facts(claimed, counters, notes)
        except Failure as failure:
            raise ProblemError(f"problem {problem.key}: the reference fails: {failure.reason}") from failure
        except WorkerKilled as killed:
            raise MachineError(f"the reference's worker: {killed}") from killed

    def _of_candidate(self, problem: Problem, candidate: Candidate) -> dict[str, Any]:
        built = self.build(candidate, self.device, Call(problem, self.math, "ModelNew", self.environment.gpu))
        source = Source(candidate.source, "ModelNew", candidate.backend, built.folder)
        side = Side(self.zygote, source, self.device)
        with self._reference(problem) as reference:
            try:
                side.start()
                side.open(reference.init, reference.weight_seed, reference.randomise, reference.math)
                side.attach(reference.master.size, reference.expected)
                claimed = self._ask(side, reference, named=backend_named(candidate.backend).compiles)
                layers = side.process.layers
            except Failure as failure:
                log = side.process.log() if hasattr(side, "process") else ""
                raise Failure(failure.outcome, failure.reason, failure.rule, failure.log or log) from failure
            except OutOfDeviceMemory as error:
                raise Failure(Outcome.OUT_OF_MEMORY, f"inputs and outputs: {error}") from error
            except WorkerKilled as killed:  # it can do that to itself
                raise Failure(Outcome.RUNTIME_ERROR, str(killed)) from killed
            finally:
                side.close()
            counters, notes = self._counted(source, claimed, reference, self.sealed)
        return _facts(claimed, counters, notes) | {"isolation": layers}

    def _reference(self, problem: Problem) -> Reference:
        return Reference(self.zygote, problem, load_protocol(_PROTOCOL).under(self.math), self.device)

    def _ask(self, side: Side, reference: Reference, named: bool) -> _Claimed:
        """The side's own account on fresh inputs, while the processes beside it are stopped."""
        reference.draw("own")
        side.stage(reference.arguments, reference.master, reference.call_seed)
        reference.rest()
        if side is not reference.side:
            reference.side.process.freeze()
        limit = side.limit_of(_CALLS)
        claim = side.ask(ProfileForward(named), limit)
        try:
            return _Claimed.model_validate(claim.data)
        except ValidationError as error:
            raise Failure(Outcome.REJECTED, "profile: not a well-formed profile", "forged_message") from error

    def _counted(
        self, source: Source, claimed: _Claimed, reference: Reference, sealed: bool
    ) -> tuple[tuple[Counters, ...], list[str]]:
        """What the hardware counted, and what a reader should know of the figures."""
        notes = _remarks(claimed, source.backend, self.device)
        if not self.counters or self.device == "cpu":
            return (), notes
        tool = tool_here()
        if (path := path_of(tool)) is None:
            return (), [*notes, f"no hardware counters: {tool.NAME} is not installed ({tool.PACKAGE})"]
        reference.side.close()  # not needed any more, unlike its memory
        calls: dict[str, float] = {}
        for row in claimed.rows if claimed.rows_are == "kernels" else ():
            calls[row.function] = calls.get(row.function, 0.0) + row.calls
        try:
            found = count(self.zygote, Profiled(source, self.device, tool, path, calls, sealed), reference)
            return found, [*notes, tool.NOTE]
        except NoCounters as why:
            return (), [*notes, f"no hardware counters: {why}"]


def _remarks(claimed: _Claimed, backend: str, device: str) -> list[str]:
    if device == "cpu":
        language = backend_named(backend)
        interpreted = f"{language.title} ran its kernels on the CPU: these times say nothing about a GPU"
        return [interpreted] if language.cpu_launchers else []
    unseen = "no kernel was seen on the GPU: forward launches none, or CUPTI could not start; these are host times"
    return [unseen] if claimed.rows_are == "operators" else []


def _facts(claimed: _Claimed, counters: tuple[Counters, ...], notes: Sequence[str]) -> dict[str, Any]:
    """The record's fields from a claim."""
    rows, rest = _rows(claimed)
    return {
        "rows_are": claimed.rows_are,
        "forwards": claimed.forwards,
        "wall_us": claimed.wall_us,
        "busy_us": claimed.busy_us,
        "launches": claimed.launches,
        "peak_bytes": claimed.peak_bytes,
        "rows": rows,
        "rest": rest,
        "counters": counters,
        "notes": tuple(notes),
    }


def _rows(claimed: _Claimed) -> tuple[tuple[ProfileRow, ...], ProfileRow | None]:
    """The ten longest rows, and all others as one."""
    ordered = sorted(claimed.rows, key=lambda row: -row.time_us)
    whole = sum(row.time_us for row in ordered) + claimed.other_us

    def as_row(name: str, calls: float, time_us: float) -> ProfileRow:
        return ProfileRow(name=name, calls=calls, time_us=time_us, share=min(1.0, time_us / whole) if whole else 0.0)

    # Shortened already, if the worker is honest.
    shown = tuple(as_row(short_name(row.name), row.calls, row.time_us) for row in ordered[:_SHOWN])
    hidden = ordered[_SHOWN:]
    others = len(hidden) + claimed.others
    if not others:
        return shown, None
    calls = sum(row.calls for row in hidden) + claimed.other_calls
    time_us = sum(row.time_us for row in hidden) + claimed.other_us
    return shown, as_row(f"{others} other{'s' * (others > 1)}", calls, time_us)

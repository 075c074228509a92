"""The rules about kernels, for one job: its text is read before the build, and it is watched where that must be.

Watching happens in a worker of its own, so that nothing of it can touch a checked or timed call.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Literal

import torch
from pydantic import BaseModel, ConfigDict, Field

from kernelgauge.backends.registry import backend_named, others_kernels
from kernelgauge.checks import rules
from kernelgauge.checks.kernel_origin import origins
from kernelgauge.checks.library_entries import entered, entries, of_pytorch
from kernelgauge.checks.memory_plan import MemoryPlan
from kernelgauge.checks.operators import computes
from kernelgauge.checks.rules import Read, Seen
from kernelgauge.errors import MachineError, OutOfDeviceMemory, ReferenceTooLarge
from kernelgauge.evaluation.correctness.trials import WeightSync
from kernelgauge.evaluation.failures import Failure
from kernelgauge.evaluation.job import Job
from kernelgauge.evaluation.sides.build_files import content_of, files_of
from kernelgauge.evaluation.sides.model_worker import Source
from kernelgauge.evaluation.sides.prefork import PreforkPool
from kernelgauge.evaluation.sides.reference import Reference
from kernelgauge.evaluation.sides.side import Side
from kernelgauge.profiling.kernel_names import short_name
from kernelgauge.sandbox.zygote_client import Zygote, worker_device
from kernelgauge.schema import Executed, ExecutedWork, Finding, Outcome
from kernelgauge.wire.candidate_commands import Observe, Watch

# Forwards before the one that is watched, one at least: compilers and autotuners work in the first.
_WARMUPS = 3
_CALLS = 8
_KEPT = 20
# What calls machine code on a CPU without Python's profiler or ctypes: libraries of Numba, cffi, Taichi, Warp, JAX.
_UNSEEN = ("libllvmlite", "_cffi_backend", "taichi_python", "warp", "libjax")

_Row = tuple[
    Annotated[str, Field(min_length=1, max_length=600)],
    Annotated[int, Field(ge=1, le=10**9)],
    Annotated[float, Field(ge=0, le=1e15)],
]


class _Claimed(BaseModel):
    """What `tracing.ExecutionTracer.observe` returns, as the worker tells it."""

    model_config = ConfigDict(extra="forbid")
    own: list[_Row] = Field(max_length=100)
    operators: list[_Row] = Field(max_length=100)
    foreign: list[_Row] = Field(max_length=100)
    kernels: list[_Row] | None = Field(max_length=100)
    reached: dict[int, Literal["load", "forward"]]
    inside: dict[int, list[Annotated[str, Field(max_length=600)]]]
    compiled_graphs: int = Field(ge=0, le=10**6)


@dataclass(frozen=True)
class Kernels:
    """What is known of the candidate's kernels under the rules of its protocol."""

    text: Read = field(default_factory=Read)
    """What its text says."""
    findings: tuple[Finding, ...] = ()
    executed: ExecutedWork | None = None
    """What a watched call ran; None where no rule needed that, or it has not come to it."""

    def allowed(self) -> None:
        """Raises Failure: `rejected`, with the rule, where a finding refuses the candidate."""
        for finding in self.findings:
            if finding.severity == "refuse":
                where = f"line {finding.line}: " if finding.line else ""
                evidence = f"; {finding.evidence}" if finding.evidence else ""
                raise Failure(Outcome.REJECTED, f"{where}{finding.reason}{evidence}", finding.rule)


@dataclass(frozen=True)
class Watchable:
    """What watching a candidate depends on beside its job."""

    kernels: Kernels
    build_dir: Path | None
    weight_sync: WeightSync
    candidate_ms: float | None
    """Typical time of one of its calls; None where it was not timed."""


class WatchedSide(Side):
    """A side whose worker watches the candidate from its import on.

    Args:
        places: first and last lines to ask about.
    """

    def __init__(
        self,
        zygote: Zygote,
        source: Source,
        device: str,
        prefork_pool: PreforkPool,
        places: Sequence[tuple[int, int]],
        plan: MemoryPlan,
    ):
        super().__init__(zygote, source, device, prefork_pool=prefork_pool, plan=plan)
        self._places = places
        self.kernels_seen = False
        """Whether the machine can see which kernels run."""

    @property
    def interpreted(self) -> bool:
        """Whether its language itself runs the kernels on a CPU, so that no library is built."""
        return self._device == "cpu" and bool(backend_named(self._source.backend).cpu_launchers)

    @property
    def build_dir(self) -> Path | None:
        """What the candidate's build has left."""
        return self._source.build_dir

    def before_loading(self) -> None:
        """Have what is watched begin: nothing of the candidate has run yet."""
        places = [list(place) for place in self._places]
        said = self.ask(Watch(worker_device(self._device), places), self.limits.load_seconds)
        self.kernels_seen = bool(said.data.get("kernels_seen"))


class Rules:
    """Reads and watches candidates under the kernel policy of their protocol."""

    def __init__(self, zygote: Zygote, prefork_pool: PreforkPool):
        self._zygote = zygote
        self._prefork_pool = prefork_pool

    def read(self, job: Job) -> Kernels:
        """Read the candidate's text."""
        policy = rules.SETS[job.protocol.kernel_policy]
        text = rules.read(job.candidate.source, job.problem.source, job.candidate.backend, policy)
        return Kernels(text, rules.settle(text, None, policy))

    @staticmethod
    def needs_run(job: Job, kernels: Kernels) -> bool:
        """Whether `watch` has to run the candidate, beside a reference of its own."""
        return rules.needs_run(kernels.text, rules.SETS[job.protocol.kernel_policy])

    def watch(self, job: Job, of: Watchable) -> Kernels:
        """See what the candidate runs, if its text leaves that open or the rules ask for an own kernel.

        Raises:
            Failure: what went wrong in the watched calls.
            ProblemError: the reference itself fails.
            MachineError: the machine failed, or nothing can see kernels here.
        """
        policy = rules.SETS[job.protocol.kernel_policy]
        if not self.needs_run(job, of.kernels):
            return of.kernels
        try:
            seen = self._watched(job, of)
        except (ReferenceTooLarge, torch.OutOfMemoryError):
            self._prefork_pool.let_go(job.device)
            seen = self._watched(job, of)
        return Kernels(of.kernels.text, rules.settle(of.kernels.text, seen, policy), seen.executed)

    def _watched(self, job: Job, of: Watchable) -> Seen:
        text = of.kernels.text
        places = list(dict.fromkeys(lead.place for lead in text.leads if lead.place))
        source = job.source(of.build_dir)
        side = WatchedSide(self._zygote, source, job.device, self._prefork_pool, places, job.plan)
        asked = (job.problem, job.protocol, job.device, self._prefork_pool, job.plan)
        with Reference(self._zygote, *asked) as reference:
            try:
                claimed = self._ask(job, of.weight_sync, side, reference)
                if job.device == "cpu":
                    return _seen_on_cpu(claimed, text, side, places)
                return _seen_on_gpu(claimed, text, of.candidate_ms, side, places)
            except OutOfDeviceMemory as error:
                raise Failure(Outcome.OUT_OF_MEMORY, f"inputs and outputs: {error}") from error
            except Failure as failure:
                failure.log = failure.log or side.process.log()
                raise
            finally:
                side.close()

    def _ask(self, job: Job, weight_sync: WeightSync, side: WatchedSide, reference: Reference) -> _Claimed:
        side.start()
        state = reference.state() if weight_sync == "state_dict" else None
        side.open(reference.init, reference.weight_seed, reference.randomise, reference.math, state)
        if rules.SETS[job.protocol.kernel_policy].needs_own_kernel and not side.kernels_seen:
            raise MachineError("no profiler sees kernels here (CUPTI does not start), and the rules ask for one")
        side.attach(reference.master.size, reference.expected)
        reference.draw("own")
        side.stage(reference.arguments, reference.master, reference.call_seed)
        limit = side.limit_of(_CALLS)
        # Nobody should know which call is watched.
        claim = side.ask(Observe(1 + secrets.randbelow(_WARMUPS)), limit)
        try:
            claimed = _Claimed.model_validate(claim.data)
            if (claimed.kernels is None) != (job.device == "cpu"):
                raise ValueError("kernels are seen on a GPU")
        except ValueError as error:
            raise Failure(Outcome.REJECTED, "rules: not a well-formed account", "forged_message") from error
        return claimed


Places = Sequence[tuple[int, int]]


def _seen_on_cpu(claimed: _Claimed, text: Read, side: WatchedSide, places: Places) -> Seen:
    """On a CPU: functions of libraries that the candidate has built, which the kernel says are mapped there.

    A function of its own that enters PyTorch's kernels past the dispatcher is no kernel of its own, nor is one
    without a loop beside a library that computes.
    """
    works = [row for row in claimed.operators if computes(row[0])]
    mapped = side.process.libraries()
    folders = [side.process.scratch, side.process.given]
    roots = tuple(f"{root}{os.sep}" for each in folders for root in (each, each.resolve()))
    loaded = not mapped or any(path.startswith(roots) for path in mapped)
    owns: bool | None = False
    if (claimed.own and (loaded or side.interpreted)) or (mapped and loaded and not works):
        owns = True
    elif not side.interpreted and any(
        Path(path).name.startswith(_UNSEEN) and not path.startswith(roots) for path in mapped
    ):
        owns = None
    ways = _ways((path for path in mapped if path.startswith(roots)), claimed)
    computed = bool(works or ways) and not side.interpreted
    if owns and (any(map(of_pytorch, ways)) or (computed and text.loops is False)):
        owns = False
    works += [(name, 1, 0.0) for name in ways]
    seen = _seen(claimed, claimed.own if owns else [], works, owns, places)
    if ways:  # its own time has theirs in it
        seen = replace(seen, executed=seen.executed.model_copy(update={"own_share": None}))
    return replace(seen, entered=tuple(ways))


def _ways(own: Iterable[str], claimed: _Claimed) -> list[str]:
    """The ways into libraries that its own libraries name, and those that it has gone by ctypes; PyTorch's first."""
    found = {name for path in own for name in entries(content_of(Path(path)))}
    called = (row[0].rpartition(":") for row in claimed.foreign)
    found |= {name for library, _, symbol in called if (name := entered(symbol, library))}
    return sorted(found, key=lambda name: (not of_pytorch(name), name))[:_KEPT]


def _seen_on_gpu(
    claimed: _Claimed, text: Read, candidate_ms: float | None, side: WatchedSide, places: Places
) -> Seen:
    """On a GPU: kernels that were launched, by where they come from."""
    rows = claimed.kernels or []
    made = files_of(side.build_dir) if side.build_dir else []
    found = origins([row[0] for row in rows], made, text.declared, text.makes_kernels, others_kernels())
    own = [row for row in rows if found[row[0]] == "own"]
    works = [row for row in rows if found[row[0]] != "own"]
    untold = not side.kernels_seen or any(origin == "unknown" for origin in found.values())
    seen = _seen(claimed, own, works, True if own else None if untold else False, places)
    if candidate_ms is None:
        return replace(seen, alone=True)
    watched_ms = sum(row[2] for row in rows) / 1000
    return replace(seen, alone=True, times_longer=watched_ms / candidate_ms)


def _seen(claimed: _Claimed, own: list[_Row], works: list[_Row], owns: bool | None, places: Places) -> Seen:
    spent = [sum(row[2] for row in rows) for rows in (own, works)]
    executed = ExecutedWork(
        own=_executed(own),
        others=_executed(works),
        own_share=spent[0] / sum(spent) if own and sum(spent) else None,
        compiled_graphs=claimed.compiled_graphs,
    )
    known = dict(enumerate(places))
    inside = {index: tuple(map(_called, filter(computes, names))) for index, names in claimed.inside.items()}
    return Seen(
        executed=executed,
        owns=owns,
        works=tuple(row.name for row in executed.others),
        reached={known[index]: stage for index, stage in claimed.reached.items() if index in known},
        inside={known[index]: names for index, names in inside.items() if index in known},
    )


def _executed(rows: list[_Row]) -> tuple[Executed, ...]:
    """The rows of a record; `short_name` also cleans what a worker could have put into them."""
    return tuple(Executed(name=_called(name), calls=calls, time_us=spent) for name, calls, spent in rows[:_KEPT])


def _called(name: str) -> str:
    """A name as people know it: `aten.addmm.default` is `aten::addmm`."""
    space, _, operator = name.partition(".")
    return short_name(f"{space}::{operator.partition('.')[0]}" if space == "aten" else name)

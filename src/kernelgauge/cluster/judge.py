"""The actor that has one GPU: it never touches CUDA itself, and starts the process that judges there."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import ray

from kernelgauge.backends.cache import BuildCache
from kernelgauge.backends.registry import require_backend
from kernelgauge.cluster.binaries import NotPortable, unpacked
from kernelgauge.cluster.node import NodeFacts, facts_here, layers_of, settings_here
from kernelgauge.config import Limits, Protocol
from kernelgauge.errors import KernelgaugeError, without_locals
from kernelgauge.evaluation.build import Built
from kernelgauge.evaluation.job import Job
from kernelgauge.evaluation.progress import Progress
from kernelgauge.evaluation.rehearsal import key_of
from kernelgauge.evaluation.supervisor import Supervisor
from kernelgauge.execution.judge_process import JudgeProcess
from kernelgauge.execution.lease import Leases
from kernelgauge.execution.order import Order
from kernelgauge.generation.contestant import abandon
from kernelgauge.sandbox.zygote_client import worker_device
from kernelgauge.schema import Candidate, Environment, Evaluation, NoCandidate, Problem

# A binary that does not come within so many seconds is built here.
_FETCH_SECONDS = 60.0
# Candidates of one problem judged under one lease, as on one machine.
_MOST_IN_A_TURN = 16
_REMEMBERED = 64


@dataclass(frozen=True)
class Shipment:
    """What a builder made for a judge."""

    key: str
    """The name of the build: the judge uses it where it would call its own so."""
    progress: Progress | None
    """What was read and built; None where the judge is to do that too, and finds the build in its cache."""
    binary: tuple[Any, ...] = ()
    """A reference to the packed build in Ray's object store; empty where there is none."""


@dataclass(frozen=True)
class Verdict:
    """What a judge answers."""

    result: Evaluation | NoCandidate | KernelgaugeError
    candidate: Candidate | None = None
    """The text that was judged."""


class JudgeActor:
    """Judges one candidate after the other on one device of its node, under the lease of that device.

    Args:
        device: `cpu` or `cuda:0`, the only GPU that Ray shows it.
        threads: CPU threads of a worker; None: all cores of the node.
    """

    def __init__(self, device: str, limits: Limits, threads: int | None, timed: bool):
        settings = settings_here(limits, threads)
        self._device, self._timed, self._settings = device, timed, settings
        self._process = JudgeProcess(settings)
        self._leases = Leases(settings.cache / "locks")
        self._builds = BuildCache(settings.builds)
        self._facts: NodeFacts | None = None
        self._starting, self._turn = threading.Lock(), threading.Condition()
        self._waiting: list[Order] = []
        """The one that is judged, and those that are next, as they came."""
        self._held = ExitStack()
        self._in_a_turn = 0
        self._known: OrderedDict[str, Verdict] = OrderedDict()
        self._asking: Any = None

    def facts(self) -> NodeFacts:
        """Of this node; answered when the process that judges is ready."""
        with self._starting:
            if self._facts is None:
                layers = self._process.call(layers_of, "the judge's start", self._device)
                self._facts = facts_here(self._settings, layers, self._device)
            return self._facts

    def judge(self, token: str, order: Order, shipment: Shipment | None) -> Verdict:
        """The verdict on an order. A token that was judged before gets the same again: a call may be repeated."""
        environment = self.facts().environment
        progress = self._received(order, shipment, environment)
        with self._in_turn(order):
            if token not in self._known:
                self._known[token] = self._judged(order, progress, environment)
                while len(self._known) > _REMEMBERED:
                    self._known.popitem(last=False)
            return self._known[token]

    def ping(self) -> None:
        """Say that it is there."""

    def close(self) -> None:
        """End what is under way, and the process that judges."""
        if self._asking is not None:
            abandon(self._asking)
        self._process.abandon()

    @contextmanager
    def _in_turn(self, order: Order) -> Iterator[None]:
        """Who came first is judged first: one that hangs must not get ahead of the others."""
        with self._turn:
            self._waiting.append(order)
            self._turn.wait_for(lambda: self._waiting[0] is order)
        try:
            yield
        finally:
            with self._turn:
                self._waiting.remove(order)
                self._turn.notify_all()

    def _received(self, order: Order, shipment: Shipment | None, environment: Environment) -> Progress | None:
        """How far a builder got, with its binary in the cache of this node; None where all is to be done here."""
        if shipment is None or order.candidate is None:
            return None
        folder = None
        call = Job(order.problem, order.candidate, order.protocol, self._device, environment).call
        if shipment.binary and key_of(order.candidate, self._device, call) == shipment.key:
            folder = self._builds.get(shipment.key)
            try:
                folder = folder or unpacked(self._builds, shipment.key, self._fetched(shipment))
            except (NotPortable, ray.exceptions.RayError):
                return None  # its node is gone, or the store was full: it is built here
        if shipment.progress is None or (shipment.progress.built and shipment.progress.built.folder and not folder):
            return None
        built = shipment.progress.built and Built(folder, shipment.progress.built.made, shipment.progress.built.log)
        return replace(shipment.progress, built=built)

    def _fetched(self, shipment: Shipment) -> bytes:
        found: bytes = ray.get(shipment.binary[0], timeout=_FETCH_SECONDS)
        return found

    def _judged(self, order: Order, progress: Progress | None, environment: Any) -> Verdict:
        candidate = order.candidate
        try:
            answer = self._asked(order) if not isinstance(order.answer, Candidate | NoCandidate) else order.answer
            if isinstance(answer, NoCandidate):
                return Verdict(self._counted(order, answer, environment))
            candidate = answer
            require_backend(order.problem.key, candidate.backend, worker_device(self._device))
            job = Job(order.problem, candidate, order.protocol, self._device, environment)
            judge = self._judged_on_cpu if self._device == "cpu" else self._judged_on_gpu
            return Verdict(judge(job, progress, order.candidate is None), candidate)
        except KernelgaugeError as error:
            return Verdict(without_locals(error), candidate)

    def _asked(self, order: Order) -> Candidate | NoCandidate:
        assert not isinstance(order.answer, Candidate | NoCandidate)
        self._asking = order.answer
        self._end_turn()
        with self._leases.shared(self._device):
            answer = order.answer.complete(order.problem, order.sample, self._device)
        if isinstance(answer, NoCandidate):
            answer = answer.model_copy(update={"level": order.problem.level})
        return answer

    def _judged_on_cpu(self, job: Job, progress: Progress | None, on_device: bool) -> Evaluation:
        about = f"problem {job.problem.key}"
        with self._leases.shared("cpu"):
            progress = self._process.call(partial(Supervisor.prepare, job=job), about, "cpu")
        with self._leases.exclusive("cpu"):
            return self._process.judge(job, progress, self._timed)

    def _judged_on_gpu(self, job: Job, progress: Progress | None, on_device: bool) -> Evaluation:
        if not self._in_a_turn:  # one that kept the lease for the next of its problem has it still
            self._held.enter_context(self._leases.exclusive(self._device))
        self._in_a_turn += 1
        keep = self._in_a_turn < _MOST_IN_A_TURN and self._is_followed(job)
        call = partial(judged, job=job, progress=progress, timed=self._timed, keep=keep, on_device=on_device)
        kept = False
        try:
            record: Evaluation = self._process.call(call, f"problem {job.problem.key}", self._device)
            kept = keep
        finally:
            if not kept:
                self._end_turn()
        return record

    def _is_followed(self, job: Job) -> bool:
        """Whether the next one shares its reference."""
        with self._turn:
            return any((each.problem, each.protocol) == (job.problem, job.protocol) for each in self._waiting[1:2])

    def _end_turn(self) -> None:
        self._in_a_turn = 0
        self._held.close()

    def _counted(self, order: Order, skip: NoCandidate, environment: Any) -> NoCandidate:
        """With what is known of the problem: a weak one does not count for those without an answer either."""
        asked = partial(
            screened, problem=order.problem, protocol=order.protocol, device=self._device, environment=environment
        )
        self._end_turn()
        lease = self._leases.shared if self._device == "cpu" else self._leases.exclusive
        with lease(self._device):
            found = self._process.call(asked, f"problem {order.problem.key}", self._device)
        return skip.model_copy(update={"scored": not found or order.protocol.score.weak_problems == "counted"})


def judged(
    supervisor: Supervisor, job: Job, progress: Progress | None, timed: bool, keep: bool, on_device: bool
) -> Evaluation:
    """All that is left of an evaluation on a GPU, in the process that judges there; raises as `Supervisor.judge`."""
    supervisor.memory.check(job.problem, job.protocol, job.device, job.environment)
    progress = progress or supervisor.prepare(job, on_device)
    return supervisor.conclude(job, progress) or supervisor.judge(job, progress, timed, keep)


def screened(
    supervisor: Supervisor, problem: Problem, protocol: Protocol, device: str, environment: Any
) -> tuple[str, ...]:
    """Answers without the work that would pass, in the process that judges."""
    asked = (problem, protocol, device, environment)
    known = supervisor.screen.known(*asked)
    return supervisor.screen.trivial_answers(*asked) if known is None else known

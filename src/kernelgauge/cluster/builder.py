"""The actor that builds: one candidate at a time, on a CPU of any node, for the GPU model that the run is about."""

from __future__ import annotations

import os
from functools import partial

import ray

from kernelgauge.cluster.binaries import NotPortable, packed
from kernelgauge.cluster.judge import Shipment
from kernelgauge.cluster.node import NodeFacts, facts_here, layers_of, settings_here
from kernelgauge.config import Limits
from kernelgauge.errors import KernelgaugeError, without_locals
from kernelgauge.evaluation.build import Built
from kernelgauge.evaluation.failures import Failure
from kernelgauge.evaluation.job import Job
from kernelgauge.evaluation.progress import Progress
from kernelgauge.evaluation.rehearsal import key_of
from kernelgauge.evaluation.supervisor import Supervisor
from kernelgauge.execution.judge_process import JudgeProcess
from kernelgauge.execution.lease import Leases
from kernelgauge.execution.order import Order
from kernelgauge.kernels.toolkit import ARCHITECTURE
from kernelgauge.schema import Environment


class BuildActor:
    """Builds in sealed processes, as on the machine that judges.

    Args:
        architecture: what CUDA is compiled for: that of the judges, whether or not there is a GPU here.
    """

    def __init__(self, limits: Limits, threads: int | None, architecture: str):
        os.environ[ARCHITECTURE] = architecture
        self._settings = settings_here(limits, threads)
        self._process = JudgeProcess(self._settings)
        self._leases = Leases(self._settings.cache / "locks")

    def facts(self, device: str) -> NodeFacts:
        """Of this node; answered when the process that builds is ready."""
        layers = self._process.call(layers_of, "the builder's start", device)
        return facts_here(self._settings, layers, device)

    def build(self, order: Order, device: str, environment: Environment) -> Shipment | KernelgaugeError:
        """What the judge needs; or what keeps the candidate from being judged."""
        candidate = order.candidate
        assert candidate is not None, "what has no text yet is not built ahead"
        job = Job(order.problem, candidate, order.protocol, device, environment)
        about = f"problem {order.problem.key}"
        key = key_of(candidate, device, job.call)
        try:
            if device == "cpu":  # the check follows where it is timed
                with self._leases.shared("cpu"):
                    built = self._process.call(partial(built_alone, job=job), about, device)
                return Shipment(key, None, shipped(built))
            progress: Progress = self._process.call(partial(Supervisor.prepare, job=job), about, device)
            return Shipment(key, progress, shipped(progress.built))
        except KernelgaugeError as error:
            return without_locals(error)

    def ping(self) -> None:
        """Say that it is there."""

    def close(self) -> None:
        """End what is under way, and the process that builds."""
        self._process.abandon()


def shipped(built: Built | None) -> tuple[object, ...]:
    """A reference to the packed build; nothing where there is none, or where it is not to be had so."""
    if built is None or built.folder is None:
        return ()
    try:
        return (ray.put(packed(built.folder)),)
    except (NotPortable, ray.exceptions.RayError):  # the store is full: the judge builds it again
        return ()


def built_alone(supervisor: Supervisor, job: Job) -> Built | None:
    """A build, in the process that builds; None where it failed: the judge will say why."""
    try:
        return supervisor.build(job.candidate, job.device, job.call)
    except Failure:
        return None

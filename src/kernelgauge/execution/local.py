"""Many candidates on this machine: built and checked side by side, timed one alone.

Work goes in waves. A wave's candidates are generated, built and (on a CPU) checked by several threads under shared
leases; then each device is leased alone, and the wave's survivors are (on a GPU checked and) timed one after the
other, while nothing else of ours runs there. So the number of jobs changes how long a run takes, not what it
measures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from queue import SimpleQueue
from typing import Any

from kernelgauge.errors import KernelgaugeError
from kernelgauge.evaluation.job import Job
from kernelgauge.evaluation.supervisor import Supervisor
from kernelgauge.execution.lease import Leases
from kernelgauge.hardware import gpu_count
from kernelgauge.schema import NoCandidate

_WAVE_PER_JOB = 4

Start = Callable[[], "Job | NoCandidate"]


@dataclass(frozen=True)
class Task:
    """One candidate to come: which, and how to get it."""

    problem: str
    sample: int
    start: Start


@dataclass(frozen=True)
class Done:
    """How a task ended: a job ready to be recorded, no candidate, or an error of ours."""

    task: Task
    result: Job | NoCandidate | KernelgaugeError


def devices_of(device: str) -> list[str]:
    """Every device that `device` stands for: `cuda` for all visible GPUs, `cuda:1` for one of them."""
    return [f"cuda:{index}" for index in range(max(gpu_count(), 1))] if device == "cuda" else [device]


class LocalExecutor:
    """Runs tasks on the devices of this machine.

    Args:
        devices: of one kind; each judges one candidate at a time.
        jobs: how many candidates are generated, built and (on a CPU) checked at once.
    """

    def __init__(self, supervisor: Supervisor, leases: Leases, devices: Sequence[str], jobs: int):
        self._supervisor = supervisor
        self._leases = leases
        self._devices = list(devices)
        self._free = SimpleQueue[str]()
        for device in devices:
            self._free.put(device)
        self._jobs = jobs
        self._stopping = False

    def run(self, tasks: Sequence[Task], stage: Callable[[str], None] = lambda _: None) -> Iterator[Done]:
        """Evaluate every task; results come as they are final, so that a caller can store each at once.

        Args:
            stage: told in a word what is going on, for a progress display.
        """
        self._supervisor.resume()
        waiting = iter(tasks)
        on_gpu = self._devices != ["cpu"]
        while wave := list(islice(waiting, _WAVE_PER_JOB * self._jobs)):
            built: list[Done] = []
            stage("build" if on_gpu else "build and check")
            for done in self._pooled(self._prepare, wave, self._jobs):
                if isinstance(done.result, Job) and (on_gpu or done.result.failure is None):
                    built.append(done)
                else:
                    yield done
            if built:
                stage("check and time" if on_gpu else "time")
                yield from self._pooled(self._judge, built, len(self._devices))

    def _pooled(self, work: Callable[[Any], Done], items: Sequence[Any], threads: int) -> Iterator[Done]:
        """Results of `work` on every item as they come; where the caller stops early, all processes end."""
        with ThreadPoolExecutor(threads, thread_name_prefix="kernelgauge") as pool:
            futures = [pool.submit(work, item) for item in items]
            try:
                for future in as_completed(futures):
                    yield future.result()
            except BaseException:
                self._stopping = True
                pool.shutdown(wait=False, cancel_futures=True)
                self._supervisor.abandon()  # else leaving this block waits for builds of minutes
                raise

    def _prepare(self, task: Task) -> Done:
        try:
            with ExitStack() as held:
                for device in self._devices:
                    held.enter_context(self._leases.shared(device))
                started = task.start()
                if isinstance(started, Job) and not self._stopping:
                    self._supervisor.prepare(started)
        except KernelgaugeError as error:
            return Done(task, error)
        return Done(task, started)

    def _judge(self, done: Done) -> Done:
        assert isinstance(done.result, Job)
        device = self._free.get()
        try:
            with self._leases.exclusive(device):
                done.result.device = device
                if not self._stopping:
                    self._supervisor.judge(done.result)
        except KernelgaugeError as error:
            return Done(done.task, error)
        finally:
            self._free.put(device)
        return done

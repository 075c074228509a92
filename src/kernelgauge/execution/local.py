"""Many candidates on this machine: built and checked side by side, timed one alone.

Work goes in waves. A wave's candidates are generated, built and checked by several threads under the shared lease;
then the lease turns exclusive and the wave's survivors are timed one after the other while nothing else of ours
runs. So the number of jobs changes how long a run takes, not what it measures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from itertools import islice

from kernelgauge.errors import KernelgaugeError
from kernelgauge.evaluation.supervisor import Job, Supervisor
from kernelgauge.execution.lease import Leases
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


class LocalExecutor:
    """Runs tasks on one device of this machine.

    Args:
        jobs: how many candidates are generated, built and checked at once.
    """

    def __init__(self, supervisor: Supervisor, leases: Leases, device: str, jobs: int):
        self._supervisor = supervisor
        self._leases = leases
        self._device = device
        self._jobs = jobs
        self._stopping = False

    def run(self, tasks: Sequence[Task], stage: Callable[[str], None] = lambda _: None) -> Iterator[Done]:
        """Evaluate every task; results come as they are final, so that a caller can store each at once.

        Args:
            stage: told in a word what is going on, for a progress display.
        """
        waiting = iter(tasks)
        while wave := list(islice(waiting, _WAVE_PER_JOB * self._jobs)):
            survivors = []
            stage("build and check")
            for done in self._prepared(wave):
                if isinstance(done.result, Job) and done.result.failure is None:
                    survivors.append(done)
                else:
                    yield done
            if survivors:
                stage("time")
                yield from self._timed(survivors)

    def _prepared(self, wave: Sequence[Task]) -> Iterator[Done]:
        with ThreadPoolExecutor(self._jobs, thread_name_prefix="kernelgauge") as pool:
            futures = [pool.submit(self._prepare, task) for task in wave]
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
            with self._leases.shared(self._device):
                started = task.start()
                if isinstance(started, Job) and not self._stopping:
                    self._supervisor.prepare(started)
        except KernelgaugeError as error:
            return Done(task, error)
        return Done(task, started)

    def _timed(self, survivors: Sequence[Done]) -> Iterator[Done]:
        for done in survivors:
            assert isinstance(done.result, Job)
            with self._leases.exclusive(self._device):
                try:
                    self._supervisor.time(done.result)
                except KernelgaugeError as error:
                    done = Done(done.task, error)
            yield done

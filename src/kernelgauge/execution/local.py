"""Many candidates on this machine: built and checked side by side, timed one alone.

On a CPU, work goes in waves. A wave's candidates are generated, built and checked by several threads under a shared
lease; then the CPU is leased alone, and the wave's survivors are timed one after the other, while nothing else of
ours runs there. So the number of jobs changes how long a run takes, not what it measures. What arrives while a thread
of a wave has nothing to do joins it: one candidate that hangs keeps no other from its verdict.

On a GPU nothing waits for a wave: while each device judges under its own lease, the candidates of one problem one
after the other, the next ones are generated and built, at low priority, on cores that launch no kernels, in processes
that see no device. A device may have a process that judges for it, so that nothing that goes on here can disturb its
clock. Builds can disturb the other side of it all the same, on hosts of several GPUs most: of a list of candidates
those that came out much less sure than was asked for are judged again once nothing is built. Where the contestant
itself computes on a device, some of several GPUs are left to that until all is built; with one, there are waves as
well.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, as_completed, wait
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from itertools import cycle, islice
from queue import SimpleQueue
from typing import Any

from kernelgauge.errors import KernelgaugeError, MachineError, ReferenceTooLarge, without_locals
from kernelgauge.evaluation.job import Job
from kernelgauge.evaluation.supervisor import Supervisor
from kernelgauge.execution.again import Again
from kernelgauge.execution.judge_process import JudgeProcess
from kernelgauge.execution.lease import Leases
from kernelgauge.execution.order import Order
from kernelgauge.execution.ready import Prepared, Ready
from kernelgauge.hardware.environment import gpu_count
from kernelgauge.schema import Evaluation, NoCandidate

# Candidates under way for each job: what a wave consists of, and how far builds run ahead of a GPU.
_AHEAD_PER_JOB = 4
# Candidates of one problem that are judged under one lease: others wait for the device too.
_MOST_IN_A_TURN = 16
# Of so many GPUs, one for what computes before it is judged: compiles take longer, but run side by side.
_BUILD_ON_ONE_OF = 4
# How soon a task is begun that came while others are under way.
_LOOK_AGAIN_SECONDS = 0.5

Start = Callable[[str], "Job | NoCandidate"]
"""Given the device to compute on, where it computes at all before it is judged."""


@dataclass(frozen=True)
class Task:
    """One candidate to come: which, and how to get it."""

    problem: str
    sample: int
    start: Start
    on_device: bool = False
    """Whether `start` or the build computes on the device."""
    order: Callable[[], Order] | None = None
    """The same for executors of other machines: the answer of a contestant that computes on no device, or the
    contestant. None where only this machine can judge it."""


@dataclass(frozen=True)
class Done:
    """How a task ended: a record, no candidate, or an error of ours."""

    task: Task
    result: Evaluation | NoCandidate | KernelgaugeError
    job: Job | None = None
    """What was to be judged, where a candidate was there."""


def devices_of(device: str) -> list[str]:
    """Every device that `device` stands for: `cuda` for all visible GPUs, `cuda:1` for one of them."""
    return [f"cuda:{index}" for index in range(max(gpu_count(), 1))] if device == "cuda" else [device]


def lent_for_builds(devices: Sequence[str]) -> int:
    """How many of these judge nothing until all is built, where contestants or builds compute on a device."""
    return max(1, len(devices) // _BUILD_ON_ONE_OF) if len(devices) > 1 else 0


class LocalExecutor:
    """Runs tasks on the devices of this machine.

    Args:
        devices: of one kind; each judges one candidate at a time.
        jobs: how many candidates are generated, built and (on a CPU) checked at once.
        timed: whether to time those that are right.
        judge: starts a process that judges on a device; without, it is judged in this one.
    """

    def __init__(
        self,
        supervisor: Supervisor,
        leases: Leases,
        devices: Sequence[str],
        jobs: int,
        timed: bool = True,
        judge: Callable[[], JudgeProcess] | None = None,
    ):
        self._supervisor = supervisor
        self._leases = leases
        self._devices = list(devices)
        self._turns = cycle(self._devices)
        self._free = SimpleQueue[str]()
        self._jobs = jobs
        self._timed = timed
        self._start_judge = judge
        self._judges: dict[str, JudgeProcess] = {}
        self._stopping = False
        self._abandon_starts: Callable[[], None] = lambda: None

    def run(
        self,
        tasks: Iterable[Task],
        stage: Callable[[str], None] = lambda _: None,
        abandon_starts: Callable[[], None] = lambda: None,
    ) -> Generator[Done, None, None]:
        """Evaluate every task; results come as they are final, so that a caller can store each at once.

        Args:
            tasks: all of them, or an iterator that is asked again after it had no more, as long as others are under
                way; those of an iterator are taken not to compute on the device before they are judged.
            stage: told in a word what is going on, for a progress display.
            abandon_starts: ends what the tasks' `start` has under way, where the caller stops early.
        """
        self._stopping = False
        self._abandon_starts = abandon_starts
        self._supervisor.resume()
        if self._start_judge is not None:
            for device in self._devices:
                if (before := self._judges.get(device)) is None or before.ended:
                    self._judges[device] = self._start_judge()
        on_device = isinstance(tasks, Sequence) and any(task.on_device for task in tasks)
        lent = lent_for_builds(self._devices) if on_device else 0
        judging = self._devices[: len(self._devices) - lent]
        self._turns = cycle(self._devices[len(judging) :] or self._devices)
        self._free = SimpleQueue()
        for device in judging:
            self._free.put(device)
        if self._devices == ["cpu"] or (on_device and not lent):
            return self._in_waves(iter(tasks), stage)
        stage("build, check and time")
        # Who asks for more and more waits for each verdict: for such a one there is no later.
        again = Again() if isinstance(tasks, Sequence) else None
        return self._overlapped(iter(tasks), self._devices[len(judging) :], again)

    def _in_waves(self, waiting: Iterator[Task], stage: Callable[[str], None]) -> Generator[Done, None, None]:
        while wave := list(islice(waiting, _AHEAD_PER_JOB * self._jobs)):
            built: list[Prepared] = []
            on_gpu = self._devices != ["cpu"]
            stage("build" if on_gpu else "build and check")
            for each in self._prepared(wave, waiting):
                if isinstance(each, Done):
                    yield each
                elif on_gpu or (self._timed and each.progress.failure is None):
                    built.append(each)
                else:
                    yield self._judged(each, each.job.device)
            if built:
                stage("check and time" if on_gpu else "time")
                # A lease for each would have each wait for whoever compiles meanwhile.
                with nullcontext() if on_gpu else self._leases.exclusive("cpu"):
                    yield from self._judged_in_turns(built, leased=not on_gpu)

    def _prepared(self, wave: Sequence[Task], waiting: Iterator[Task]) -> Iterator[Done | Prepared]:
        """A wave as it is built; what arrives while a thread has nothing to do joins it, up to its size."""
        room = _AHEAD_PER_JOB * self._jobs - len(wave)
        with ThreadPoolExecutor(self._jobs, thread_name_prefix="kernelgauge") as pool, self._ending(pool):
            building = {pool.submit(self._prepare, task) for task in wave}
            while building:
                ended, building = wait(building, _LOOK_AGAIN_SECONDS, return_when=FIRST_COMPLETED)
                idle = max(0, self._jobs - len(building))
                arrived = list(islice(waiting, min(room, idle))) if building else []
                room -= len(arrived)
                building |= {pool.submit(self._prepare, task) for task in arrived}
                yield from (future.result() for future in ended)

    def abandon(self) -> None:
        """End every process of evaluations under way: they end in errors of the machine, until `resume` or `run`."""
        for judge in self._judges.values():
            judge.abandon()
        self._supervisor.abandon()
        self._abandon_starts()

    def resume(self) -> None:
        """Let evaluations begin again."""
        self._supervisor.resume()

    def close(self) -> None:
        """End the processes that judge. What was stopped early has ended by now: others may evaluate again."""
        for judge in self._judges.values():
            judge.close()
        self._judges.clear()
        self._supervisor.resume()

    def _judged_in_turns(self, built: Sequence[Prepared], leased: bool) -> Iterator[Done]:
        """Results of all of these as they come."""
        ready = Ready()
        results = [ready.add(each) for each in built]
        with ThreadPoolExecutor(len(self._devices), thread_name_prefix="kernelgauge") as pool, self._ending(pool):
            for _ in results:
                pool.submit(self._take_turn, ready, leased)
            for future in as_completed(results):
                yield future.result()

    def _overlapped(
        self, waiting: Iterator[Task], lent: list[str], again: Again | None
    ) -> Generator[Done, None, None]:
        """Judge on each device what was built first, and keep so many candidates under way that none has to wait.

        Args:
            lent: devices that join those that judge once everything is built.
            again: keeps what is judged again then; None: nothing is.
        """
        builders = ThreadPoolExecutor(self._jobs, "kernelgauge-build")
        judges = ThreadPoolExecutor(len(self._devices), "kernelgauge-judge")
        with builders, judges, self._ending(builders, judges):
            ready = Ready()
            building: set[Future[Any]] = set()
            judging: dict[Future[Done], Prepared] = {}
            last_build = -math.inf  # when something was last under way to be built

            def judge(each: Prepared) -> None:
                judging[ready.add(each)] = each
                judges.submit(self._take_turn, ready)

            while True:
                # Those that are lent are wanted back, however far the builds get ahead.
                most = sys.maxsize if lent else _AHEAD_PER_JOB * self._jobs + len(self._devices)
                room = max(0, most - len(building) - len(judging))
                arrived = list(islice(waiting, room))
                building |= {builders.submit(self._prepare, task) for task in arrived}
                if not building and len(arrived) < room:  # nothing is left to build
                    while lent:
                        self._free.put(lent.pop())
                    for each in again.due() if again else ():
                        judge(each)
                if not building and not judging:
                    return
                ended, _ = wait(building | judging.keys(), _LOOK_AGAIN_SECONDS, return_when=FIRST_COMPLETED)
                last_build = time.monotonic() if building else last_build
                building -= ended
                for future in ended:
                    come, judged = future.result(), judging.pop(future, None)
                    if isinstance(come, Prepared):
                        judge(come)
                    elif judged is None or again is None:
                        yield come
                    elif (final := again.settled(judged, come, last_build)) is not None:
                        yield final

    @contextmanager
    def _ending(self, *pools: ThreadPoolExecutor) -> Iterator[None]:
        """Where the caller stops early, all processes end: leaving a pool would wait for builds of minutes."""
        try:
            yield
        except BaseException:
            self._stopping = True
            for pool in pools:
                pool.shutdown(wait=False, cancel_futures=True)
            self.abandon()
            raise

    def _prepare(self, task: Task) -> Done | Prepared:
        device = next(self._turns)
        beside_others = task.on_device or device == "cpu"
        try:
            with self._leases.shared(device) if beside_others else nullcontext():
                if self._stopping:
                    raise MachineError("evaluations were stopped")
                job = task.start(device)
                if isinstance(job, NoCandidate):
                    return Done(task, job)
                if self._stopping:
                    raise MachineError("evaluations were stopped")
                progress = self._supervisor.prepare(job, task.on_device)
                failed = self._supervisor.conclude(job, progress)
                return Prepared(task, job, progress) if failed is None else Done(task, failed, job)
        except KernelgaugeError as error:
            return Done(task, without_locals(error))

    def _take_turn(self, ready: Ready, leased: bool = False) -> None:
        """Judge the candidate that has waited longest on the first device that is free, and under the same lease the
        others of its problem; nothing if an earlier turn has left nobody.

        Args:
            leased: the device needs no lease, or is leased already.
        """
        device = self._free.get()
        try:
            if (turn := ready.take()) is None:
                return
            try:
                with nullcontext() if leased else self._leases.exclusive(device):
                    for left in reversed(range(_MOST_IN_A_TURN)):
                        following = ready.take_like(turn) if left else None
                        _settle(turn.done, partial(self._judged, turn.prepared, device, keep=following is not None))
                        if following is None:
                            return
                        turn = following
            except BaseException as error:  # of the lease: whoever waits for the result must hear of it
                if not turn.done.done():
                    turn.done.set_exception(error)
        finally:
            self._free.put(device)

    def _judged(self, waiting: Prepared, device: str, keep: bool = False) -> Done:
        """Judge on that device, which is leased; `keep`: another candidate of the problem follows."""
        job = replace(waiting.job, device=device)
        try:
            if self._stopping:
                raise MachineError("evaluations were stopped")
            if (failed := self._supervisor.conclude(job, waiting.progress)) is not None:
                return Done(waiting.task, failed, job)  # learnt while it waited
            judge = self._judges.get(device, self._supervisor)
            return Done(waiting.task, judge.judge(job, waiting.progress, self._timed, keep), job)
        except KernelgaugeError as error:
            if isinstance(error, ReferenceTooLarge):
                self._supervisor.remember(job, error)
            return Done(waiting.task, without_locals(error), job)


def _settle(result: Future[Done], judge: Callable[[], Done]) -> None:
    """Whoever waits for the result must hear of it, whatever it is."""
    try:
        result.set_result(judge())
    except BaseException as error:
        result.set_exception(error)

"""Tasks on a Ray cluster: asked here, built on its CPUs, judged on its GPUs; results come as they are final."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from uuid import uuid4

import ray
from ray.exceptions import ActorUnavailableError, RayError, RayTaskError

from kernelgauge.backends.registry import backend_named
from kernelgauge.cluster.fleet import AT_ONCE, Fleet, Member
from kernelgauge.cluster.judge import Verdict
from kernelgauge.cluster.options import ClusterOptions
from kernelgauge.cluster.progress import ClusterProgress
from kernelgauge.cluster.work import Item, WorkQueue
from kernelgauge.errors import KernelgaugeError, MachineError, UsageError, without_locals
from kernelgauge.evaluation.job import Job
from kernelgauge.execution.local import Done, Task
from kernelgauge.execution.machines import ExecutorSetting
from kernelgauge.execution.order import Order
from kernelgauge.schema import Candidate, Evaluation

# What members answer is looked for so often, and so are nodes and tasks that come meanwhile.
_LOOK_AGAIN_SECONDS = 0.25
# Candidates under way for each judge, as far as builders get ahead, and for each who is asked here.
_AHEAD = 4
_LEAST = 8
# A judge that has not answered for so long is taken for lost: each step of an evaluation has a limit of minutes.
_LONGEST_SECONDS = 3600.0
_LONGEST_WITHOUT_BUILDER_SECONDS = 60.0


class RayExecutor:
    """Runs tasks on the members of a fleet; made by `cluster.machines.RayCluster`."""

    def __init__(self, options: ClusterOptions, setting: ExecutorSetting):
        self._options, self._setting = options, setting
        self._fleet = self._new_fleet()
        self._stopping = threading.Event()
        self._abandon_starts: Callable[[], None] = lambda: None

    def run(
        self,
        tasks: Iterable[Task],
        stage: Callable[[str], None] = lambda _: None,
        abandon_starts: Callable[[], None] = lambda: None,
    ) -> Generator[Done, None, None]:
        """Every task's end, each once, as it is final; see `Executor.run`.

        Raises:
            MachineError: there was no judge for as long as the options say, or the cluster is gone.
        """
        self._stopping.clear()
        self._abandon_starts = abandon_starts
        return _Round(self._fleet, self._options, self._setting, self._stopping, stage).run(iter(tasks), self._ended)

    def abandon(self) -> None:
        """Have everything under way end in errors; the members end with it."""
        self._stopping.set()
        self._abandon_starts()

    def resume(self) -> None:
        """Let evaluations begin again."""
        self._stopping.clear()

    def close(self) -> None:
        """End all members."""
        self._fleet.close()

    def _ended(self) -> None:
        """A run stopped early: its members are busy with what nobody waits for."""
        self._abandon_starts()
        self._fleet.close()
        self._fleet = self._new_fleet()

    def _new_fleet(self) -> Fleet:
        device = "cpu" if self._setting.device == "cpu" else "cuda"
        setting = self._setting
        limits, threads = setting.settings.limits, setting.threads
        return Fleet(self._options, device, limits, threads, setting.timed, setting.hardware, setting.tell)


class _Round:
    """One call of `run`."""

    def __init__(
        self,
        fleet: Fleet,
        options: ClusterOptions,
        setting: ExecutorSetting,
        stopping: threading.Event,
        stage: Callable[[str], None],
    ):
        self._fleet, self._options, self._setting, self._stopping = fleet, options, setting, stopping
        self._work = WorkQueue()
        self._asked: dict[Future[Order], Item] = {}
        self._ended: deque[Done] = deque()
        self._progress = ClusterProgress(stage)
        self._nonce = uuid4().hex[:8]
        fleet.last_judge = self._builder_since = time.monotonic()

    def run(self, waiting: Iterator[Task], stopped_early: Callable[[], None]) -> Generator[Done, None, None]:
        pool = ThreadPoolExecutor(self._setting.jobs, thread_name_prefix="kernelgauge-ask")
        whole = False
        try:
            while True:
                more = self._take(waiting, pool)
                yield from self._drained()
                if not more and not self._work:
                    whole = True
                    return
                if self._stopping.is_set():
                    self._end_all(MachineError("evaluations were stopped"))
                    yield from self._drained()
                    return
                self._turn()
        except (RayError, ConnectionError) as error:
            raise MachineError(
                f"the cluster is gone: {error}; the same command goes on where this one stopped"
            ) from error
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            if not whole:
                stopped_early()

    def _turn(self) -> None:
        for member in self._fleet.tend():
            self._lost(member)
        self._check_bounds()
        self._dispatch()
        self._progress.show(self._fleet, self._work)
        waited = self._fleet.references()
        if not waited:
            time.sleep(_LOOK_AGAIN_SECONDS)
        else:
            ready, rest = ray.wait(waited, num_returns=1, timeout=_LOOK_AGAIN_SECONDS)
            if ready and rest:  # and whatever else has come
                ready += ray.wait(rest, num_returns=len(rest), timeout=0)[0]
            self._settle(ready)
        for future in [future for future in self._asked if future.done()]:
            self._answered(self._asked.pop(future), future)

    def _take(self, waiting: Iterator[Task], pool: ThreadPoolExecutor) -> bool:
        """Begin with tasks as far as there is room; False if there is none left now."""
        members = len(self._fleet.members)
        room = max(_LEAST, _AHEAD * members + self._setting.jobs) - len(self._work)
        while room > 0 and not self._stopping.is_set():
            task = next(waiting, None)
            if task is None:
                return False
            room -= 1
            item = self._work.begin(task)
            if task.order is None:
                self._end(item, UsageError(f"problem {task.problem} can be judged on this machine only"))
            else:
                self._asked[pool.submit(task.order)] = item
        return True

    def _answered(self, item: Item, future: Future[Order]) -> None:
        error = future.exception()
        if isinstance(error, KernelgaugeError):
            self._end(item, without_locals(error))
            return
        order = future.result()
        self._work.ordered(item, order)
        candidate = order.candidate
        build = candidate is not None and self._is_built_ahead(candidate)
        (self._work.to_build if build else self._work.to_judge)(item)

    def _is_built_ahead(self, candidate: Candidate) -> bool:
        backend = backend_named(candidate.backend)
        on_host = backend.builds_on_host or self._setting.device == "cpu"
        device = self._setting.device
        builds = backend.builds(candidate.source, device) or backend.rehearses(candidate.source, device)
        return self._options.builds != 0 and on_host and builds

    def _dispatch(self) -> None:
        first = self._fleet.first
        if first is None:
            return
        builders = self._fleet.ready("builder")
        self._leave_to_judges(builders)
        judges = self._fleet.ready("judge")
        for builder in builders:
            if not builder.calls and (item := self._work.next_to_build(self._languages(builder))):
                self._give(builder, item, builder.actor.build.remote(item.order, self._device, first.environment))
        for depth in range(AT_ONCE):  # everybody has one before anybody has two
            for judge in judges:
                if len(judge.calls) == depth and (item := self._work.next_to_judge(judge.last)):
                    assert item.order is not None
                    token = f"{self._nonce}-{item.order.key}"
                    self._give(judge, item, judge.actor.judge.remote(token, item.order, item.shipment))

    def _leave_to_judges(self, builders: Sequence[Member]) -> None:
        """What no builder there is can build, or will be able to in a while, is built where it is judged."""
        now = time.monotonic()
        if builders:
            self._builder_since = now
        gone = not self._fleet.builds() or now - self._builder_since > _LONGEST_WITHOUT_BUILDER_SECONDS
        if gone or (builders and not self._fleet.coming("builder")):
            self._work.leave_unbuilt(but={name for each in builders for name in self._languages(each)})

    def _languages(self, builder: Member) -> list[str]:
        """Those whose builds there are what they would be where they are judged."""
        first = self._fleet.first
        assert builder.facts is not None and first is not None
        return [name for name, made in builder.facts.makers.items() if made == first.makers.get(name)]

    @property
    def _device(self) -> str:
        return "cpu" if self._setting.device == "cpu" else "cuda:0"

    def _give(self, member: Member, item: Item, call: object) -> None:
        if not member.calls:
            member.busy_since = time.monotonic()
        member.calls[call] = item
        member.last = item

    def _settle(self, ready: list[object]) -> None:
        whose = {call: member for member in self._fleet.members for call in member.calls}
        for reference in ready:
            member = whose.get(reference)
            if member is None:
                if (lost := self._fleet.settle(reference)) is not None:
                    self._lost(lost)
            elif reference in member.calls:
                self._come(member, reference)

    def _come(self, member: Member, reference: object) -> None:
        try:
            answer = ray.get(reference)
        except ActorUnavailableError:
            item = member.calls.pop(reference)
            self._back(item)
            if not self._fleet.doubt(member):
                self._lost(member)
            return
        except RayTaskError as error:
            if isinstance(error.cause, RayError):
                self._back(member.calls.pop(reference))
                return
            raise RuntimeError(f"a {member.kind} on {member.host} failed: {error}") from error
        except RayError:
            self._lost(member)
            return
        item = member.calls.pop(reference)
        member.busy_since = time.monotonic()
        if member.kind == "judge":
            self._judged(item, answer)
        elif isinstance(answer, KernelgaugeError):
            self._end(item, answer)
        else:
            self._work.built(item, answer)

    def _judged(self, item: Item, verdict: Verdict) -> None:
        order, candidate = item.order, verdict.candidate
        assert order is not None
        job = None
        if candidate is not None and isinstance(verdict.result, Evaluation):
            environment = verdict.result.environment
            job = Job(order.problem, candidate, order.protocol, self._device, environment)
            self._progress.judged()
        self._end(item, verdict.result, job)

    def _lost(self, member: Member) -> None:
        for item in self._fleet.drop(member):
            self._back(item)

    def _back(self, item: Item) -> None:
        if item.state == "judging":
            item.shipment = None if item.losses else item.shipment  # it may be what its machine failed on
        if (error := self._work.lost(item)) is not None:
            self._end(item, error)

    def _end(self, item: Item, result: object, job: Job | None = None) -> None:
        if self._work.end(item):
            self._ended.append(Done(item.task, result, job))  # type: ignore[arg-type]

    def _end_all(self, error: MachineError) -> None:
        for item in self._work:
            self._end(item, error)

    def _drained(self) -> Iterator[Done]:
        while self._ended:
            yield self._ended.popleft()

    def _check_bounds(self) -> None:
        """Nothing is waited for without end."""
        now = time.monotonic()
        for member in list(self._fleet.members):
            if member.calls and now - member.busy_since > _LONGEST_SECONDS:
                self._setting.tell(f"{member.host}: a {member.kind} has not answered for {_LONGEST_SECONDS:.0f} s")
                self._lost(member)
        if self._work and (self._fleet.hopeless() or now - self._fleet.last_judge > self._options.wait):
            refused = "; ".join(f"a node is refused: it {why}" for why in dict.fromkeys(self._fleet.refused.values()))
            coming = f"{self._fleet.coming('judge')} have not started"
            raise MachineError(
                f"no judge for {now - self._fleet.last_judge:.0f} s on {len(self._fleet.nodes)} nodes "
                f"({refused or coming}); "
                "the same command goes on where this one stopped"
            )

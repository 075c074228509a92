"""Candidates that come one by one, as a contestant answers, and are judged beside it.

Whoever submits goes on at once and gets a future. The queue has so many places: when all are taken, `submit` waits,
so that a fast contestant cannot pile up more than the devices can judge. A thread of the queue's own hands what
has come to the executor, which takes as much as it can work on, and knows about leases.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass
from queue import Empty, Full, Queue

from kernelgauge.errors import MachineError
from kernelgauge.execution.local import Done, Task
from kernelgauge.execution.machines import Executor

_Entry = tuple[Task, "Future[Done]"]


@dataclass(frozen=True)
class Load:
    """How full a queue is."""

    waiting: int = 0
    """Candidates that nobody has begun with."""
    judging: int = 0
    """Candidates that the executor has taken and that are not final."""
    judged: int = 0
    stage: str = ""
    """What the executor is doing, in a word."""


class EvaluationQueue:
    """A bounded queue in front of an executor.

    Args:
        places: how many candidates may wait.
        changed: told after each change of the load, on any thread.
    """

    def __init__(self, executor: Executor, places: int, changed: Callable[[Load], None] = lambda _: None):
        self._executor = executor
        self._changed = changed
        self._entries: Queue[_Entry | None] = Queue(places)
        self._closed = threading.Event()
        self._under_way: dict[int, _Entry] = {}
        self._turning = threading.Lock()
        self._abandoned = False
        self._judged = 0
        self._stage = ""
        self._thread = threading.Thread(target=self._serve, name="kernelgauge-queue", daemon=True)
        self._thread.start()

    @property
    def load(self) -> Load:
        """How full it is now."""
        with self._turning:
            judging = sum(not future.done() for _, future in self._under_way.values())
        return Load(self._entries.qsize(), judging, self._judged, self._stage if judging else "")

    def submit(self, task: Task) -> Future[Done]:
        """Queue a task; waits for a place. Raises MachineError if the queue was closed."""
        future: Future[Done] = Future()
        if self._closed.is_set():
            raise MachineError("the evaluation queue was closed before all candidates were judged")
        self._entries.put((task, future))
        self._tell()
        return future

    def withdraw(self, future: Future[Done]) -> None:
        """Nobody waits for this one any more. Where that is true of all that is under way, it is ended."""
        with self._turning:
            future.cancel()
            if self._under_way and all(each.done() for _, each in self._under_way.values()):
                self._abandoned = True  # nothing more is begun until the executor runs anew
                self._executor.abandon()
        self._tell()

    def close(self) -> None:
        """End: what is under way is ended, what waits gets a MachineError. Closing twice does nothing."""
        if self._closed.is_set():
            return
        self._closed.set()
        with self._turning:
            early = not all(future.done() for _, future in self._under_way.values())
            if early:
                self._executor.abandon()
        while self._thread.is_alive():
            self._refuse_all()
            try:
                self._entries.put(None, timeout=0.1)
            except Full:  # somebody was quicker: the next turn empties it again
                continue
            self._thread.join(timeout=1)
        self._refuse_all()
        self._executor.close()
        if early:
            self._executor.resume()

    def _serve(self) -> None:
        while (first := self._entries.get()) is not None:
            self._abandoned = False
            try:
                for done in self._executor.run(_Arriving(self, first), self._enter):
                    self._judged += 1
                    self._settle(done.task, done)
            except BaseException as error:  # boundary: whoever waits must hear of it, whatever it is
                for task, _ in list(self._under_way.values()):
                    self._settle(task, error)
            if self._closed.is_set():
                return

    def take(self, first: _Entry | None) -> Task | None:
        """The next task that somebody waits for, beginning with `first`; None if there is none now."""
        while not (self._closed.is_set() or self._abandoned):
            try:
                entry = first or self._entries.get_nowait()
            except Empty:
                return None
            if entry is None:
                return None
            first = None
            if not entry[1].cancelled():
                with self._turning:
                    self._under_way[id(entry[0])] = entry
                self._tell()
                return entry[0]
        if first is not None:
            _answer(first[1], _closed_early())
        return None

    def _settle(self, task: Task, answer: Done | BaseException) -> None:
        with self._turning:
            _, future = self._under_way.pop(id(task))
        _answer(future, answer)
        self._tell()

    def _refuse_all(self) -> None:
        while True:
            try:
                entry = self._entries.get_nowait()
            except Empty:
                return
            if entry is not None:
                _answer(entry[1], _closed_early())

    def _enter(self, stage: str) -> None:
        self._stage = stage
        self._tell()

    def _tell(self) -> None:
        self._changed(self.load)


class _Arriving(Iterator[Task]):
    """What is in the queue at the moment it is asked: it may end, and later have another one."""

    def __init__(self, queue: EvaluationQueue, first: _Entry):
        self._queue = queue
        self._first: _Entry | None = first

    def __next__(self) -> Task:
        task = self._queue.take(self._first)
        self._first = None
        if task is None:
            raise StopIteration
        return task


def _closed_early() -> MachineError:
    return MachineError("the evaluation queue was closed before this candidate was judged")


def _answer(future: Future[Done], answer: Done | BaseException) -> None:
    """Unless it was withdrawn, or has its answer."""
    try:
        future.set_result(answer) if isinstance(answer, Done) else future.set_exception(answer)
    except InvalidStateError:
        pass

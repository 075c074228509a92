"""The build pool: never more memory than there is, never a build that waits for ever."""

from __future__ import annotations

import threading

import pytest
from waiting import comes_true

from kernelgauge.execution.build_pool import BuildPool, free_gigabytes
from kernelgauge.hardware.environment import memory_bytes


class Builds:
    """Builds that each hold a slot until they are told to end."""

    def __init__(self, pool: BuildPool):
        self._pool = pool
        self.running: list[str] = []
        self._ends: dict[str, threading.Event] = {}

    def start(self, name: str, gigabytes: float) -> None:
        self._ends[name] = threading.Event()

        def build() -> None:
            with self._pool.slot(gigabytes):
                self.running.append(name)
                self._ends[name].wait(60)
                self.running.remove(name)

        before = len(self._pool._waiting)
        threading.Thread(target=build, daemon=True).start()
        # So that the order of arrival is the order of these calls.
        assert comes_true(lambda: name in self.running or len(self._pool._waiting) > before)

    def end(self, name: str) -> None:
        self._ends[name].set()


def test_builds_run_at_once_as_far_as_memory_goes() -> None:
    builds = Builds(BuildPool(cores=8, free=lambda: 10 / 0.75))
    for name, gigabytes in {"a": 4.0, "b": 4.0, "c": 4.0}.items():
        builds.start(name, gigabytes)
    assert comes_true(lambda: builds.running == ["a", "b"])
    builds.end("a")
    assert comes_true(lambda: builds.running == ["b", "c"])


def test_no_more_builds_than_cores() -> None:
    builds = Builds(BuildPool(cores=2, free=lambda: 100.0))
    for name in "abc":
        builds.start(name, 0.1)
    assert comes_true(lambda: builds.running == ["a", "b"])


def test_a_build_larger_than_the_machine_runs_alone() -> None:
    builds = Builds(BuildPool(cores=8, free=lambda: 2.0))
    builds.start("small", 0.5)
    builds.start("huge", 50.0)
    assert comes_true(lambda: builds.running == ["small"])
    builds.end("small")
    assert comes_true(lambda: builds.running == ["huge"])
    builds.start("next", 0.5)
    assert builds.running == ["huge"]


def test_small_builds_do_not_overtake_a_large_one_for_ever() -> None:
    builds = Builds(BuildPool(cores=8, free=lambda: 10 / 0.75))
    builds.start("first", 8.0)
    builds.start("large", 8.0)
    builds.start("small", 1.0)
    assert comes_true(lambda: builds.running == ["first"])
    builds.end("first")
    assert comes_true(lambda: builds.running == ["large", "small"])


def test_a_failed_build_gives_its_slot_back() -> None:
    pool = BuildPool(cores=1, free=lambda: 1.0)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError), pool.slot(1.0):
            raise ZeroDivisionError


def test_free_memory_is_some_and_less_than_the_machines() -> None:
    assert 0 < free_gigabytes() < memory_bytes() / 1e9

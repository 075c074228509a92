"""Processes started ahead: taken once, unused by anybody else, and gone when they are not needed."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import cast
from unittest.mock import Mock

import pytest
import torch
from waiting import comes_true

from kernelgauge.config import Settings
from kernelgauge.evaluation.sides import prefork
from kernelgauge.evaluation.sides.prefork import Kind, PreforkPool, kind_of, started
from kernelgauge.sandbox.process import WorkerProcess
from kernelgauge.sandbox.zygote_client import Zygote

pytestmark = pytest.mark.processes

WORKER = kind_of("worker", "cpu", {"KERNELGAUGE_TEST": "{scratch}/here"})


@pytest.fixture
def zygote(tmp_path: Path) -> Iterator[Zygote]:
    zygote = Zygote(Settings(cache=tmp_path, builds=tmp_path / "builds", threads=1))
    yield zygote
    zygote.close()


def kept(zygote: Zygote, process: WorkerProcess) -> PreforkPool:
    """One preforked process, as `renew` keeps it on a GPU."""
    ahead = PreforkPool(zygote)
    future: Future[WorkerProcess] = Future()
    future.set_result(process)
    ahead._kept["cpu"].append((WORKER, future))
    return ahead


def test_a_spare_is_taken_once_and_only_by_its_own_kind(zygote: Zygote) -> None:
    preforked = started(zygote, WORKER)
    ahead = kept(zygote, preforked)
    with ahead.take(kind_of("worker", "cpu")) as other:
        assert other is not preforked
    with ahead.take(WORKER) as first, ahead.take(WORKER) as second:
        assert first is preforked
        assert second is not preforked and second.alive()


def test_a_spare_that_has_died_is_replaced(zygote: Zygote) -> None:
    preforked = started(zygote, WORKER)
    os.kill(preforked.pid, signal.SIGKILL)
    assert comes_true(lambda: not preforked.alive())
    with kept(zygote, preforked).take(WORKER) as process:
        assert process is not preforked and process.alive()
    assert not preforked.scratch.exists()


def test_what_is_not_needed_ends_and_leaves_nothing(zygote: Zygote) -> None:
    preforked = started(zygote, WORKER)
    ahead = kept(zygote, preforked)
    ahead.close()
    assert not preforked.alive() and not preforked.scratch.exists()


def test_on_a_cpu_nothing_is_started_ahead(zygote: Zygote) -> None:
    ahead = PreforkPool(zygote)
    with ahead.take(WORKER):
        ahead.renew("cpu")
    assert not ahead._kept["cpu"] and not ahead._taken


def test_what_an_evaluation_expects_stays_although_it_took_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a GPU that is not there: which processes are kept, of which none is real."""
    monkeypatch.setattr(prefork, "started", lambda *_: Mock(spec=WorkerProcess, device_started=True))
    monkeypatch.setattr(prefork, "device_index", lambda _: 0)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda *_: (2**40, 2**40))
    worker, oracle = kind_of("worker", "cuda:0"), kind_of("oracle", "cuda:0", sealed=False)
    ahead = PreforkPool(Mock())

    def waiting() -> dict[Kind, list[Future[WorkerProcess]]]:
        return {
            kind: [future for other, future in ahead._kept["cuda:0"] if other == kind] for kind in (worker, oracle)
        }

    for kind in (worker, worker, oracle):
        ahead.take(kind)
    ahead.renew("cuda:0")
    assert [len(each) for each in waiting().values()] == [2, 1]
    (spare,) = waiting()[oracle]
    for _ in range(2):  # the next pair of processes of the same evaluation, whose oracle goes on
        ahead.take(worker)
    ahead.expect(oracle)
    ahead.renew("cuda:0")
    assert [len(each) for each in waiting().values()] == [2, 1] and waiting()[oracle] == [spare]
    ahead.take(worker)
    ahead.renew("cuda:0")
    assert [len(each) for each in waiting().values()] == [1, 0], "nobody expects an oracle any more"
    cast(Mock, spare.result()).close.assert_called_once()
    ahead.close()


@pytest.mark.gpu
def test_on_a_gpu_the_next_evaluation_finds_its_processes_started(zygote: Zygote) -> None:
    ahead = PreforkPool(zygote)
    worker, oracle = kind_of("worker", "cuda:0"), kind_of("oracle", "cuda:0", sealed=False)
    used = [ahead.take(kind) for kind in (worker, worker, oracle)]
    ahead.renew("cuda:0")
    ahead.settle("cuda:0")
    for process in used:
        process.close()
    pids = {future.result().pid for _, future in ahead._kept["cuda:0"]}
    again = [ahead.take(kind) for kind in (worker, oracle)]
    assert {process.pid for process in again} < pids and len(pids) == 3
    assert all(process.device_started for process in again)
    ahead.renew("cuda:0")
    assert len(ahead._kept["cuda:0"]) == 2, "the second worker was not needed"
    for process in again:
        process.close()
    ahead.close()
    assert not ahead._kept["cuda:0"]

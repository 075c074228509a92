"""Leases of a device: many together or one alone, and nobody waits for ever."""

from __future__ import annotations

import fcntl
import threading
import time
from pathlib import Path

from waiting import comes_true

from kernelgauge.execution.lease import Leases


def somebody_waits(folder: Path) -> bool:
    with (folder / "next-cpu").open("a") as turn:
        try:
            fcntl.flock(turn, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def test_who_waits_to_be_alone_is_not_overtaken(tmp_path: Path) -> None:
    leases, order = Leases(tmp_path), list[str]()

    def alone() -> None:
        with Leases(tmp_path).exclusive("cpu"):
            order.append("alone")

    def late() -> None:
        with leases.shared("cpu"):
            order.append("late")

    threads = [threading.Thread(target=work, daemon=True) for work in (alone, late)]
    with leases.shared("cpu"):
        with Leases(tmp_path).shared("cpu"):
            order.append("beside")
        threads[0].start()
        assert comes_true(lambda: somebody_waits(tmp_path))
        threads[1].start()
        time.sleep(0.2)
        assert order == ["beside"]
    for thread in threads:
        thread.join(60)
    assert order == ["beside", "alone", "late"]
    assert not somebody_waits(tmp_path)

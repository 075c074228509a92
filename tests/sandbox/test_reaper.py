"""How a worker ended, asked by several threads at once."""

from __future__ import annotations

import os
import threading

from kernelgauge.sandbox.reaper import Reaper


def ends_as_told_to(waiting: int) -> list[int]:
    reaper = Reaper()
    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(reaper.wait(30))) for _ in range(waiting)]
    for thread in threads:
        thread.start()
    os.write(reaper.reporting, b'{"status": 7}\n')
    reaper.handed_over()
    for thread in threads:
        thread.join(60)
    reaper.close()
    return found


def test_all_who_wait_are_told_the_same_end() -> None:
    """One of them reads what the reaper says, byte by byte; the others must not take bytes of that away."""
    assert all(ends_as_told_to(4) == [7] * 4 for _ in range(200))

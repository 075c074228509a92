"""How a worker waits for the message that starts its call."""

from __future__ import annotations

import os
import socket

import pytest

from kernelgauge.wire.messages import await_awake


def test_who_waits_awake_makes_way_for_the_sender_on_its_core(monkeypatch: pytest.MonkeyPatch) -> None:
    """Charged as work in the staging, a wait for the sender's turn was up to 5 ms, seen where there are two cores."""
    worker, parent = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with worker, parent:
        monkeypatch.setattr(os, "sched_yield", lambda: parent.send(b"go on"))  # the parent's turn
        await_awake(worker, 60.0)
        assert worker.recv(16) == b"go on", "looked at, not taken"


def test_who_waits_awake_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    worker, parent = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    turns: list[int] = []
    monkeypatch.setattr(os, "sched_yield", lambda: turns.append(1))
    with worker, parent:
        await_awake(worker, 0.001)
        with pytest.raises(BlockingIOError):
            worker.recv(16, socket.MSG_DONTWAIT)
    assert turns

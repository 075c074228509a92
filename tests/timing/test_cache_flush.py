"""The buffer that flushes the caches takes nothing from the call that is timed."""

from __future__ import annotations

import pytest
import torch

from kernelgauge.timing.cache_flush import CacheFlush, leave_room

GIB = 1 << 30


@pytest.mark.parametrize(
    ("free", "emptied"),
    [(20 * GIB, False), (4 * GIB, True), (6 * GIB, True), (7 * GIB, False)],
    ids=["plenty", "too little", "just too little", "just enough"],
)
def test_what_is_kept_is_given_back_where_memory_is_scarce(
    free: int, emptied: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[bool] = []
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda device: 12 * GIB)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda device: 6 * GIB)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (free, 80 * GIB))
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: done.append(True))
    leave_room("cuda:0", GIB // 4)
    assert bool(done) is emptied


@pytest.mark.gpu
def test_an_output_as_large_as_the_last_has_room_after_a_flush() -> None:
    torch.cuda.empty_cache()
    free, _ = torch.cuda.mem_get_info()
    rest = torch.empty(free - 5 * GIB, dtype=torch.uint8, device="cuda")
    output = torch.empty(3 * GIB, dtype=torch.uint8, device="cuda")
    del output
    flush = CacheFlush("cuda:0")
    flush()
    output = torch.empty(3 * GIB, dtype=torch.uint8, device="cuda")
    torch.cuda.synchronize()
    del rest, output, flush
    torch.cuda.empty_cache()

"""Copies to the host and back are what they are copies of, in one piece or in many."""

from __future__ import annotations

import pytest
import torch

from kernelgauge.checks import host_copies
from kernelgauge.checks.host_copies import to_device, to_host


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_a_copy_is_equal_and_its_own(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_copies, "_PIECE_BYTES", 1000)
    for tensor in (
        torch.randn(7, 311, device=device),
        torch.randn(311, 7, device=device).t(),
        torch.arange(2000, device=device).to(torch.int16),
        torch.zeros((), device=device),
    ):
        before = tensor.clone()
        kept = to_host(tensor)
        tensor.zero_()
        assert kept.device.type == "cpu" and torch.equal(kept, before.cpu())
        back = to_device(kept, torch.device(device))
        assert back.device.type == device and torch.equal(back, before)

"""What this machine is found to have, and the words for what it lacks."""

from __future__ import annotations

import pytest

from kernelgauge.hardware import environment


@pytest.mark.parametrize(
    ("card", "visible", "torch", "device", "word"),
    [
        (None, 0, "2.11.0", "cpu", None),
        (None, 0, "2.11.0", "cuda", "nvidia-smi lists none"),
        (("NVIDIA H200", "580"), 2, "2.11.0", "cuda", None),
        (("NVIDIA H200", "580"), 2, "2.11.0", "cuda:1", None),
        (("NVIDIA H200", "580"), 2, "2.11.0", "cuda:2", "the last of 2 visible GPUs is cuda:1"),
        (("NVIDIA H200", "580"), 0, "2.11.0", "cuda", "CUDA_VISIBLE_DEVICES hides them"),
        (("NVIDIA H200", "580"), 1, "2.13.0+cpu", "cuda", "PyTorch 2.13.0+cpu is built without CUDA"),
    ],
)
def test_why_nothing_can_run_on_a_device(
    monkeypatch: pytest.MonkeyPatch,
    card: tuple[str, str] | None,
    visible: int,
    torch: str,
    device: str,
    word: str | None,
) -> None:
    monkeypatch.setattr(environment, "gpu", lambda: card)
    monkeypatch.setattr(environment, "gpu_count", lambda: visible)
    monkeypatch.setattr(environment, "package_version", lambda _: torch)
    said = environment.missing_device(device)
    assert said is None if word is None else word in (said or "")
    if device == "cuda":
        assert environment.best_device() == ("cuda" if word is None else "cpu")


@pytest.mark.parametrize(("listed", "count"), [("", 0), ("-1", 0), ("0", 1), ("3,1", 2), ("0,-1,1", 1)])
def test_only_visible_gpus_count(monkeypatch: pytest.MonkeyPatch, listed: str, count: int) -> None:
    monkeypatch.setattr(environment, "gpu", lambda: ("NVIDIA H200", "580"))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", listed)
    assert environment.gpu_count.__wrapped__() == count

"""What this machine is found to have, and the words for what it lacks."""

from __future__ import annotations

import pytest

from kernelgauge.hardware import cores, environment


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


@pytest.mark.parametrize(
    ("listed", "device", "number"),
    [(None, "cuda:1", 1), ("1", "cuda", 1), ("3,1", "cuda:1", 1), ("GPU-bb", "cuda:0", 1), ("MIG-cc", "cuda:0", 0)],
)
def test_who_sees_other_gpus_launches_on_other_cores(
    monkeypatch: pytest.MonkeyPatch, listed: str | None, device: str, number: int
) -> None:
    monkeypatch.setattr(environment, "host_gpus", lambda: ("GPU-aa11", "GPU-bb22", "GPU-cc33", "GPU-dd44"))
    monkeypatch.setattr(cores.os, "sched_getaffinity", lambda _: set(range(8)))
    monkeypatch.setattr(cores, "_siblings", lambda core: {core})
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if listed is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", listed)
    assert cores.launch_core(device) == 7 - number
    monkeypatch.setattr(cores, "host_gpus", lambda: ("GPU-aa11", "GPU-bb22", "GPU-cc33", "GPU-dd44"))
    monkeypatch.setattr(cores, "gpu_count", lambda: 1)
    assert cores.launch_cores() == [4, 5, 6, 7], "all of the machine's are kept free"
    monkeypatch.setattr(cores, "host_gpus", lambda: tuple(f"GPU-{each}" for each in range(8)))
    assert cores.launch_cores() == [cores.launch_core("cuda:0")], "too many for others"

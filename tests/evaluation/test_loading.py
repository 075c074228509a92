"""A worker loads a candidate."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from kernelgauge.wire.candidate_commands import Load
from kernelgauge.worker.candidate import WorkerState


def test_what_a_build_compiled_joins_a_cache_that_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As was seen on a GPU, of a Triton candidate whose calls are observed."""
    own, build = tmp_path / "inductor", tmp_path / "build"
    own.mkdir()
    (own / "begun").write_text("")
    (build / "inductor" / "kernels").mkdir(parents=True)
    (build / "inductor" / "kernels" / "one").write_text("compiled")
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(own))
    candidate = tmp_path / "candidate.py"
    candidate.write_text("class ModelNew:\n    pass\n")
    channel, other = socket.socketpair()
    with channel, other:
        said = WorkerState(channel).load(Load(str(candidate), "torch", "ModelNew", str(build)))
    assert said == {"event": "loaded"}
    assert (own / "kernels" / "one").read_text() == "compiled" and (own / "begun").exists()

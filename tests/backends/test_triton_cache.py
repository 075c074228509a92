"""Kernels that Triton has compiled once are found where their files were brought."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch

from kernelgauge.backends.hidden_device import hidden_device
from kernelgauge.backends.triton import TritonBackend
from kernelgauge.backends.triton_cache import keep, restore
from kernelgauge.config import load_protocol
from kernelgauge.generation.inductor import Inductor
from kernelgauge.schema import Candidate, Problem
from kernelgauge.session.session import Session

pytestmark = pytest.mark.processes

COMPILE = """
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def add(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) + 1, mask=i < n)


types = {"x": "*fp32", "y": "*fp32", "n": "i32", "BLOCK": "constexpr"}
kernel = triton.compile(ASTSource(add, types, {(3,): 256}), target=GPUTarget("cuda", 90, 32))
print(sorted(kernel.asm))
"""


def compiled(folder: Path, cache: Path) -> str:
    """What is known of the kernel, compiled for a GPU that need not be there."""
    (folder / "kernel.py").write_text(COMPILE)
    variables = {"TRITON_CACHE_DIR": str(cache), "PATH": "/usr/bin:/bin", "HOME": str(folder)}
    done = subprocess.run([sys.executable, "kernel.py"], cwd=folder, env=variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_kernel_is_not_compiled_again_where_its_cache_was_brought(tmp_path: Path) -> None:
    pytest.importorskip("triton")
    whole = compiled(tmp_path, tmp_path / "first")
    assert "ttir" in whole and "cubin" in whole
    keep(tmp_path / "first", tmp_path / "kept")
    (tmp_path / "first").rename(tmp_path / "gone")
    restore(tmp_path / "kept", tmp_path / "second")
    # A compile would have left all its stages.
    assert compiled(tmp_path, tmp_path / "second") == "['cubin']"
    assert not list((tmp_path / "kept").rglob("*.ttir"))


def test_where_nothing_was_compiled_nothing_is_kept(tmp_path: Path) -> None:
    keep(tmp_path / "none", tmp_path / "kept")
    assert not (tmp_path / "kept").exists()


def test_a_text_of_inductor_is_compiled_where_no_device_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As beside others' timing: whoever asks for a device there must wait until it is free."""
    pytest.importorskip("triton")
    text = Path(__file__).parents[1] / "data" / "inductor_relu_on_hopper.py"
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "inductor"))
    # A PyTorch without CUDA has no such name, and the text only asks for it.
    monkeypatch.setattr(torch._C, "_cuda_getCurrentRawStream", lambda device: 0, raising=False)
    with hidden_device():
        TritonBackend().build(text, tmp_path / "built")
    assert list((tmp_path / "built").rglob("triton_poi_fused_relu_0.cubin"))


POINTWISE = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.tanh(x) * 2 + 1


def get_inputs():
    return [torch.rand(512, 1024)]


def get_init_inputs():
    return []
"""


@pytest.mark.gpu
@pytest.mark.parametrize("hidden", [False, True], ids=["on the device", "beside others"])
def test_what_inductor_has_written_is_compiled_before_it_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hidden: bool
) -> None:
    monkeypatch.setenv("KERNELGAUGE_CACHE", str(tmp_path))
    problem = Problem(key="own", name="own", source=POINTWISE)
    candidate = Inductor().complete(problem, 0, "cuda")
    assert isinstance(candidate, Candidate), candidate
    with Session() as session:
        job = session.job(problem, candidate, load_protocol("strict"), "cuda:0")
        progress = session.supervisor.prepare(job, on_device=not hidden)
        assert progress.build_dir is not None and list(progress.build_dir.rglob("*.cubin")), progress.account.log
        record = session.supervisor.judge(job, progress, timed=False)
    assert record.passed, record.reason

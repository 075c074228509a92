"""Kernels of Triton compiled in the build by a rehearsal of the first call: what it leaves, and what it never does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernelgauge.backends.registry import backend_named
from kernelgauge.config import load_protocol
from kernelgauge.evaluation.job import Job
from kernelgauge.evaluation.progress import Progress
from kernelgauge.evaluation.rehearsal import key_of
from kernelgauge.hardware.environment import environment
from kernelgauge.schema import Candidate, Problem
from kernelgauge.session.session import Session

pytest.importorskip("triton", reason="the extra triton is not installed")
pytestmark = pytest.mark.processes

H100 = "NVIDIA H100 80GB HBM3"

REFERENCE = """
import torch

WIDTH = 4096


class Model(torch.nn.Module):
    def __init__(self, factor, shape):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.rand(shape[0]))
        self.factor = factor

    def forward(self, x):
        return x * self.weight * self.factor


def get_inputs():
    return [torch.rand(33, WIDTH)]


def get_init_inputs():
    return [2.5, (WIDTH,)]
"""

CANDIDATE = """
import os
import torch
import triton
import triton.language as tl


TUNED
@triton.jit
def scale(x, w, y, factor, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    i = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    there = i < columns
    value = tl.load(x + row * columns + i, mask=there) * tl.load(w + i, mask=there)
    tl.store(y + row * columns + i, value * factor, mask=there)


class ModelNew(torch.nn.Module):
    def __init__(self, factor, shape):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.rand(shape[0]))
        self.factor = factor

    def forward(self, x):
        assert x.is_cuda and x.device.type == "cuda" and not x.is_meta
        BEFORE
        y = torch.empty_like(x)
        rows, columns = x.shape
        grid = lambda chosen: (rows, triton.cdiv(columns, chosen["BLOCK"]))
        scale[grid](x, self.weight, y, self.factor, columns, BLOCK)
        AFTER
        return y
"""
BLOCK = "BLOCK=1024"
TUNED = """
@triton.autotune([triton.Config({"BLOCK": b}, num_warps=w) for b in (512, 1024) for w in (4, 8)], key=["columns"])
"""

# The names that Triton gives to what it compiles for these signatures: `*fp32:16` is an aligned pointer.
NAMES = """
import json, sys, torch
from pathlib import Path
from kernelgauge.backends.loading import import_file
from kernelgauge.backends.registry import backend_named
with backend_named("triton").without_device():
    kernel = import_file(Path(sys.argv[1]), "candidate").scale
    kernel.warmup(*[torch.float32] * 3, 2.5, int(sys.argv[2]), grid=(1,), **json.loads(sys.argv[3]))
"""


@pytest.fixture(scope="module")
def session(cache_folder: Path) -> Iterator[Session]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("KERNELGAUGE_ARCHITECTURE", "9.0a")
        with Session() as made:
            yield made


def candidate_of(tuned: str = "", block: str = BLOCK, before: str = "pass", after: str = "pass") -> str:
    text = CANDIDATE.replace("TUNED\n", tuned).replace("columns, BLOCK)", f"columns, {block})".replace(", )", ")"))
    return text.replace("BEFORE", before).replace("AFTER", after)


def prepared(session: Session, source: str, reference: str = REFERENCE) -> Progress:
    return session.supervisor.prepare(job_of(source, reference))


def job_of(source: str, reference: str = REFERENCE) -> Job:
    problem = Problem(key="scaled", name="scaled", source=reference)
    candidate = Candidate(problem="scaled", source=source, backend="triton")
    fingerprint = environment(1).model_copy(update={"gpu": H100})
    return Job(problem, candidate, load_protocol("strict"), "cuda", fingerprint)


def kernels(folder: Path | None) -> set[str]:
    """The folders of Triton's cache that hold machine code."""
    assert folder is not None
    return {path.parent.name for path in folder.rglob("*.cubin")}


def compiled(tmp_path: Path, source: str, columns: int, *chosen: dict[str, int]) -> set[str]:
    (tmp_path / "candidate.py").write_text(source)
    told = {"KERNELGAUGE_ARCHITECTURE": "9.0a", "TRITON_CACHE_DIR": str(tmp_path / "cache")}
    for each in chosen:
        arguments = [str(tmp_path / "candidate.py"), str(columns), json.dumps(each)]
        done = subprocess.run(
            [sys.executable, "-c", NAMES, *arguments], env={**os.environ, **told}, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr[-2000:]
    return kernels(tmp_path / "cache")


def test_a_build_leaves_the_kernel_that_the_first_call_needs(session: Session, tmp_path: Path) -> None:
    source = candidate_of()
    progress = prepared(session, source)
    assert progress.failure is None
    assert kernels(progress.build_dir) == compiled(tmp_path, source, 4096, {"BLOCK": 1024})


def test_a_build_for_other_sizes_is_another_one(session: Session, tmp_path: Path) -> None:
    source, odd = candidate_of(), REFERENCE.replace("WIDTH = 4096", "WIDTH = 4099")
    first, second = prepared(session, source), prepared(session, source, odd)
    assert first.build_dir != second.build_dir
    assert kernels(second.build_dir) == compiled(tmp_path, source, 4099, {"BLOCK": 1024})
    again = prepared(session, source, odd)
    assert again.build_dir == second.build_dir and again.built is not None and not again.built.made


def test_every_configuration_of_an_autotuned_kernel_is_left(session: Session, tmp_path: Path) -> None:
    source = candidate_of(TUNED, block="")
    progress = prepared(session, source)
    # Not by `warmup` of the tuner, which would compile without choosing: each by itself.
    plain = candidate_of()
    lines = source.index("@triton.jit") - plain.index("@triton.jit")
    assert lines > 0 and progress.failure is None
    assert len(kernels(progress.build_dir)) == 4


@pytest.mark.parametrize(
    ("before", "after", "left"),
    [
        ("if x.sum().item() > 0: pass", "pass", 0),
        ("raise ValueError('no')", "pass", 0),
        ("os._exit(0)", "pass", 0),
        ("os.abort()", "pass", 0),
        ("pass", "raise SystemExit", 1),
        ("pass", "torch.cuda.Stream()", 1),
        ("pass", "os._exit(0)", 0),
    ],
)
def test_nothing_that_goes_wrong_in_a_rehearsal_is_a_failed_build(
    session: Session, before: str, after: str, left: int
) -> None:
    progress = prepared(session, candidate_of(before=before, after=after))
    assert progress.failure is None and progress.built is not None
    assert len(kernels(progress.build_dir)) == left


def test_a_rehearsal_that_never_ends_is_ended(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kernelgauge.evaluation.build._REHEARSAL_SECONDS", 4.0)
    progress = prepared(session, candidate_of(after="while True: pass"))
    assert progress.failure is None and len(kernels(progress.build_dir)) == 1
    monkeypatch.setattr("kernelgauge.evaluation.build._KEEPING_SECONDS", 1.0)
    stubborn = "import signal; signal.signal(signal.SIGALRM, signal.SIG_IGN)\n        while True: pass"
    progress = prepared(session, candidate_of(after=stubborn))
    assert progress.failure is None and kernels(progress.build_dir) == set()


def test_what_does_not_import_is_judged_when_it_is_loaded(session: Session) -> None:
    progress = prepared(session, candidate_of() + "\nno_such_name\n")
    assert progress.failure is None and kernels(progress.build_dir) == set()


def test_a_text_that_compiles_ahead_itself_is_not_rehearsed() -> None:
    triton = backend_named("triton")
    own = candidate_of() + "\ndef compile_ahead():\n    pass\n"
    assert triton.rehearses(candidate_of(), "cuda") and not triton.rehearses(candidate_of(), "cpu")
    assert not triton.rehearses(own, "cuda") and not backend_named("cuda").rehearses(candidate_of(), "cuda")
    job = job_of(own)
    assert key_of(job.candidate, "cuda", job.call) == key_of(job.candidate, "cuda", None)

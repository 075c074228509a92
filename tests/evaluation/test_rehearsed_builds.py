"""Kernels of Triton compiled in the build by a rehearsal of the first call: what it leaves, what it never does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import resources
from pathlib import Path

import pytest

from kernelgauge.backends.registry import backend_named
from kernelgauge.config import load_protocol
from kernelgauge.evaluation.job import Job
from kernelgauge.evaluation.progress import Progress
from kernelgauge.evaluation.rehearsal import key_of
from kernelgauge.expert.contestant import Expert
from kernelgauge.hardware.environment import environment
from kernelgauge.kernels.toolkit import architecture
from kernelgauge.problems.loader import load_problem
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
    kernel = kernel.fn if hasattr(kernel, "configs") else kernel
    for chosen in json.loads(sys.argv[3]):
        kernel.warmup(*[torch.float32] * 3, 2.5, int(sys.argv[2]), grid=(1,), **chosen)
"""


def candidate_of(tuned: str = "", block: str = BLOCK, before: str = "pass", after: str = "pass") -> str:
    text = CANDIDATE.replace("TUNED\n", tuned).replace("columns, BLOCK)", f"columns, {block})".replace(", )", ")"))
    return text.replace("BEFORE", before).replace("AFTER", after)


def prepared(session: Session, source: str, reference: str = REFERENCE, backend: str = "triton") -> Progress:
    return session.supervisor.prepare(job_of(source, reference, backend))


def job_of(source: str, reference: str = REFERENCE, backend: str = "triton") -> Job:
    problem = Problem(key="scaled", name="scaled", source=reference)
    candidate = Candidate(problem="scaled", source=source, backend=backend)
    fingerprint = environment(1).model_copy(update={"gpu": H100})
    return Job(problem, candidate, load_protocol("strict"), "cuda", fingerprint)


def kernels(folder: Path | None) -> set[str]:
    """The folders of Triton's cache that hold machine code."""
    assert folder is not None
    return {path.parent.name for path in folder.rglob("*.cubin")}


def compiled(tmp_path: Path, source: str, columns: int, *chosen: dict[str, int]) -> set[str]:
    """What `warmup` compiles of the kernel, for a number of columns and each choice of its constants."""
    path = tmp_path / "candidate.py"
    path.write_text(source)
    variables = {
        **os.environ,
        "KERNELGAUGE_ARCHITECTURE": architecture(),
        "TRITON_CACHE_DIR": str(tmp_path / "cache"),
    }
    command = [sys.executable, "-c", NAMES, str(path), str(columns), json.dumps(chosen)]
    done = subprocess.run(command, env=variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return kernels(tmp_path / "cache")


def test_a_build_leaves_the_kernel_that_the_first_call_needs(session: Session, tmp_path: Path) -> None:
    source = candidate_of()
    progress = prepared(session, source)
    assert progress.failure is None
    assert kernels(progress.build_dir) == compiled(tmp_path, source, 4096, {"BLOCK": 1024})


def compiled_all(progress: Progress, source: str) -> bool:
    return backend_named("triton").compiled_all(source, progress.build_dir)


@pytest.mark.parametrize(
    ("source", "all_of_it"),
    [
        (candidate_of(), True),
        (candidate_of(TUNED, block=""), False),
        (candidate_of(before="if x.sum().item() > 0: pass"), False),
        (candidate_of(after="torch.cuda.Stream()"), False),
    ],
    ids=["plain", "autotuned", "asks for a value", "asks the device"],
)
def test_a_first_call_that_a_rehearsal_has_left_nothing_may_not_take_as_long_as_a_compiler(
    session: Session, source: str, all_of_it: bool
) -> None:
    assert compiled_all(prepared(session, source), source) is all_of_it


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
    assert progress.failure is None
    chosen = [{"BLOCK": block, "num_warps": warps} for block in (512, 1024) for warps in (4, 8)]
    assert kernels(progress.build_dir) == compiled(tmp_path, source, 4096, *chosen)


@pytest.mark.parametrize("place", ["gluon", "few_shot/matmul"])
def test_gluon_is_rehearsed_and_leaves_what_compile_ahead_leaves(session: Session, place: str) -> None:
    folder = Path(str(resources.files("kernelgauge.backends").joinpath("examples", place)))
    reference = (folder / "reference.py").read_text()
    ahead = (folder / ("candidate.py" if place == "gluon" else "gluon.py")).read_text()
    left = [
        prepared(session, source, reference, "gluon") for source in (ahead, ahead[: ahead.index("def compile_a")])
    ]
    assert kernels(left[0].build_dir) == kernels(left[1].build_dir) != set()


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


def test_where_the_problem_tells_no_shapes_without_values_nothing_is_rehearsed(session: Session) -> None:
    looking = REFERENCE.replace("torch.rand(33, WIDTH)]", "torch.rand(33, WIDTH) + torch.rand(1).item()]")
    progress = prepared(session, candidate_of(), looking)
    assert progress.failure is None and kernels(progress.build_dir) == set()


def test_a_text_that_compiles_ahead_itself_is_not_rehearsed() -> None:
    triton = backend_named("triton")
    own = candidate_of() + "\ndef compile_ahead():\n    pass\n"
    assert triton.rehearses(candidate_of(), "cuda") and not triton.rehearses(candidate_of(), "cpu")
    assert not triton.rehearses(own, "cuda") and not backend_named("cuda").rehearses(candidate_of(), "cuda")
    assert not triton.compiles_ahead  # a first call may still compile: no hang is told by its silence
    job = job_of(own)
    assert key_of(job.candidate, "cuda", job.call) == key_of(job.candidate, "cuda", None)


# A worker's first call by itself, with the build's kernels brought: prints the kernels that its compiler adds.
FIRST_CALL = """
import os, sys, torch
from pathlib import Path
from kernelgauge.backends.loading import import_file
from kernelgauge.backends.registry import backend_named
cache = Path(os.environ["TRITON_CACHE_DIR"])
backend_named("triton").restore(Path(sys.argv[3]), cache)
brought = set(cache.rglob("*"))
problem, candidate = import_file(Path(sys.argv[1]), "problem"), import_file(Path(sys.argv[2]), "candidate")
with torch.no_grad():
    model = candidate.ModelNew(*problem.get_init_inputs()).cuda()
    model(*[each.cuda() for each in problem.get_inputs()])
torch.cuda.synchronize()
print(*sorted(path.name for path in set(cache.rglob("*.cubin")) - brought))
"""


@pytest.mark.gpu
@pytest.mark.parametrize("key", ["1/10", "1/34", "1/68", "2/33", "2/60"])
def test_on_a_gpu_the_first_call_compiles_nothing(cache_folder: Path, tmp_path: Path, key: str) -> None:
    problem, text = load_problem(key, "medium"), Expert().text(Expert().file(key, 0))
    (tmp_path / "problem.py").write_text(problem.source)
    (tmp_path / "candidate.py").write_text(text)
    with Session() as session:
        job = session.job(
            problem, Candidate(problem=key, source=text, backend="triton"), load_protocol("quick"), "cuda"
        )
        progress = session.supervisor.prepare(job)
        assert progress.build_dir is not None and kernels(progress.build_dir)
        command = [sys.executable, "-c", FIRST_CALL, str(tmp_path / "problem.py"), str(tmp_path / "candidate.py")]
        variables = {**os.environ, "TRITON_CACHE_DIR": str(tmp_path / "cache")}
        done = subprocess.run(
            [*command, str(progress.build_dir / "triton")], env=variables, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr[-2000:]
        assert done.stdout.split() == []
        record = session.supervisor.judge(job, progress, timed=False)
    assert record.passed, record.reason

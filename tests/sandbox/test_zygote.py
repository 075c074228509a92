"""The process that workers are forked from: what it imports beforehand, and what it must not have started."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from waiting import comes_true

from kernelgauge.backends.registry import backend_named
from kernelgauge.config import Settings
from kernelgauge.errors import MachineError
from kernelgauge.evaluation.sides.prefork import await_device, kind_of, started
from kernelgauge.sandbox.process import WorkerProcess
from kernelgauge.sandbox.zygote_client import Zygote
from kernelgauge.wire.candidate_commands import Build

pytestmark = pytest.mark.processes

DRIVER = """
static int started;
int cuInit(unsigned int flags) { started = 1; return 0; }
int cuDeviceGetCount(int* count) { *count = 1; return started ? 0 : 3; }
"""
"""What stands in for NVIDIA's driver: it can tell whether it was started, and does nothing."""
ASKS = "import ctypes\ndriver = ctypes.CDLL({library!r})\n"
STARTS = ASKS + "driver.cuInit(0)\n"


@pytest.fixture
def zygote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Zygote]:
    """One that finds modules `asks` and `starts`, which load a driver and start it."""
    (tmp_path / "driver.c").write_text(DRIVER)
    library = tmp_path / "stands_in.so"
    command = ["cc", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "driver.c", "-o", str(library)]
    subprocess.run(command, cwd=tmp_path, check=True)
    for name, text in (("asks", ASKS), ("starts", STARTS)):
        (tmp_path / f"{name}.py").write_text(text.format(library=str(library)))
    installed = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *filter(None, installed)]))
    made = Zygote(Settings(cache=tmp_path / "cache", builds=tmp_path / "builds", threads=1))
    yield made
    made.close()


def mapped(zygote: Zygote, module: str) -> bool:
    """Whether a process for whom this module was to be imported has it from the one that it was forked from."""
    with WorkerProcess(zygote, "worker", preload=(module,)) as process:
        return any(path.endswith("stands_in.so") for path in process.libraries())


def test_what_is_imported_once_is_there_in_every_process(zygote: Zygote) -> None:
    assert mapped(zygote, "asks") and mapped(zygote, "asks")


def test_a_search_path_is_that_of_whoever_set_it(
    zygote: Zygote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The zygote runs in another folder: what is relative there would be another installation, or none."""
    monkeypatch.chdir(tmp_path.parent)
    others = os.environ["PYTHONPATH"].split(os.pathsep)[1:]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([tmp_path.name, *others]))
    assert mapped(zygote, "asks")


def test_a_module_that_starts_the_gpu_is_left_to_those_who_need_it(zygote: Zygote) -> None:
    assert not mapped(zygote, "starts") and not mapped(zygote, "starts")
    assert mapped(zygote, "asks")


def test_a_branch_that_was_killed_is_forked_again_from_the_same_base(zygote: Zygote) -> None:
    assert mapped(zygote, "asks")
    assert zygote._base is not None
    base, branch = zygote._base.pid, zygote._branches["asks",]
    os.kill(branch.pid, signal.SIGKILL)
    assert comes_true(lambda: not branch.alive())
    assert mapped(zygote, "asks")
    assert zygote._base.pid == base and zygote._branches["asks",].pid != branch.pid


def test_what_was_forked_ends_with_the_base_which_is_started_again(zygote: Zygote) -> None:
    with WorkerProcess(zygote, "worker") as one, WorkerProcess(zygote, "worker", preload=("asks",)) as other:
        branch = zygote._branches["asks",]
        assert zygote._base is not None
        os.kill(zygote._base.pid, signal.SIGKILL)
        assert comes_true(lambda: not branch.alive() and not Path(f"/proc/{branch.pid}").exists())
        assert comes_true(lambda: not any(Path(f"/proc/{process.pid}").exists() for process in (one, other)))
    assert mapped(zygote, "asks")


def test_a_module_that_cannot_be_imported_is_an_error_and_nothing_is_left(zygote: Zygote) -> None:
    with pytest.raises(MachineError, match="the worker zygote did not start"):
        mapped(zygote, "no_such_module")
    assert mapped(zygote, "asks")


def test_triton_imported_once_keeps_its_files_in_the_home_of_each_process(zygote: Zygote, tmp_path: Path) -> None:
    pytest.importorskip("triton")
    text = "import triton\nraise RuntimeError(triton.knobs.cache.dir)\n"
    for _ in range(2):
        assert said(zygote, tmp_path, text, ("triton",)).endswith("RuntimeError: SCRATCH/home/.triton/cache")


def said(zygote: Zygote, tmp_path: Path, text: str, preload: tuple[str, ...] = ()) -> str:
    """The end of what a forked process raises that runs this text."""
    with WorkerProcess(zygote, "worker", preload=preload) as process:
        path = process.scratch / "candidate.py"
        path.write_text(text)
        claim = process.ask(Build(str(path), "torch", str(tmp_path)), 60)
        return claim.message.rstrip().replace(str(process.scratch), "SCRATCH")


def test_garbage_is_looked_for_in_every_process_though_not_among_imports(zygote: Zygote, tmp_path: Path) -> None:
    text = "import gc\nraise RuntimeError(f'{gc.isenabled()} {gc.get_freeze_count() > 10_000}')\n"
    for preload in ((), ("torch._dynamo",)):
        assert said(zygote, tmp_path, text, preload).endswith("RuntimeError: True True")


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("backend", "source"),
    [
        ("torch", ""),
        ("torch", "torch.compile(f)"),
        ("cuda", "torch.utils.cpp_extension"),
        ("triton", ""),
        ("triton", "torch._inductor"),
    ],
)
def test_what_backends_import_beforehand_starts_no_gpu(zygote: Zygote, backend: str, source: str) -> None:
    kind = kind_of("worker", "cuda:0", preload=backend_named(backend).preload(source, "cuda:0"))
    with started(zygote, kind) as process:
        await_device(process, "cuda:0", 60)
    assert not zygote._not_preloaded

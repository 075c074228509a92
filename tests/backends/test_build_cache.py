"""The build cache under what really happens to it: repetition, races, kills, failures."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from kernelgauge.backends.base import Backend
from kernelgauge.backends.cache import BuildCache, build_key, locked
from kernelgauge.backends.cpp import CppBackend
from kernelgauge.backends.extension import extension_key
from kernelgauge.backends.registry import backend_named
from kernelgauge.errors import MachineError
from kernelgauge.evaluation.correctness.screening import Screening
from kernelgauge.evaluation.failures import Failure
from kernelgauge.evaluation.rehearsal import key_of
from kernelgauge.evaluation.resources.bound import Bounds
from kernelgauge.evaluation.resources.memory_fit import MemoryFit
from kernelgauge.evaluation.supervisor import Supervisor
from kernelgauge.sandbox.zygote_client import Zygote
from kernelgauge.schema import Candidate
from kernelgauge.session.session import Session

pytestmark = pytest.mark.processes

# What another process does to the same cache: a build that writes a file, then takes its time.
OTHER = """
import sys, time
from pathlib import Path
from kernelgauge.backends.cache import BuildCache

root, key, seconds = Path(sys.argv[1]), sys.argv[2], float(sys.argv[3])

def make(staging):
    (staging / "half").write_text("half of it")
    print("building", flush=True)
    time.sleep(seconds)
    (staging / "result").write_text("whole")
    with (root.parent / "made").open("a") as count:
        count.write("x")

folder, made = BuildCache(root).build(key, make)
print("made" if made else "found", (folder / "result").read_text(), flush=True)
"""

KEY = "0123456789abcdef01234567"


@contextmanager
def another_process(root: Path, seconds: float) -> Iterator[subprocess.Popen[str]]:
    """A second process that builds `KEY` below `root`; gone when the block ends."""
    command = [sys.executable, "-c", OTHER, str(root), KEY, str(seconds)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@dataclass
class Count:
    """A build that counts how often it was made."""

    times: int = 0

    def __call__(self, staging: Path) -> None:
        self.times += 1
        (staging / "result").write_text("whole")


def left_in(root: Path) -> set[str]:
    """Everything in the cache but its locks."""
    return {path.name for path in [*root.glob("*"), *root.glob("staging/*")]} - {"locks", "staging"}


def test_a_build_is_made_once(tmp_path: Path) -> None:
    cache, count = BuildCache(tmp_path / "builds"), Count()
    assert cache.get(KEY) is None
    first, made = cache.build(KEY, count)
    assert made
    assert cache.build(KEY, count) == (first, False)
    assert BuildCache(tmp_path / "builds").build(KEY, count) == (first, False)
    assert count.times == 1
    assert cache.get(KEY) == first
    assert (first / "result").read_text() == "whole"


def test_make_that_raises_leaves_nothing(tmp_path: Path) -> None:
    root = tmp_path / "builds"
    cache = BuildCache(root)

    def fail(staging: Path) -> None:
        (staging / "half").write_text("half of it")
        raise ValueError("the compiler refused")

    for _ in range(2):  # a failure is not remembered either
        with pytest.raises(ValueError, match="the compiler refused"):
            cache.build(KEY, fail)
        assert cache.get(KEY) is None
        assert left_in(root) == set()
    assert cache.build(KEY, Count())[1]


def test_interrupted_by_the_user_leaves_nothing(tmp_path: Path) -> None:
    def interrupted(staging: Path) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        BuildCache(tmp_path).build(KEY, interrupted)
    assert left_in(tmp_path) == set()


def test_equal_builds_at_once_are_one_build_and_one_wait(tmp_path: Path) -> None:
    root = tmp_path / "builds"
    with another_process(root, 1.0) as first:
        assert said(first) == "building"
        with another_process(root, 1.0) as second:
            count = Count()
            _, made = BuildCache(root).build(KEY, count)
            assert not made, "found means waited for: the first had only begun"
            assert count.times == 0
            assert said(first) == "made whole"
            assert said(second) == "found whole"
    assert (tmp_path / "made").read_text() == "x"
    assert left_in(root) == {KEY}


def test_different_builds_do_not_wait_for_each_other(tmp_path: Path) -> None:
    with another_process(tmp_path / "builds", 60.0) as other:
        assert said(other) == "building"
        assert BuildCache(tmp_path / "builds").build("another", Count())[1]
        assert other.poll() is None


def test_killed_build_leaves_nothing_under_its_key(tmp_path: Path) -> None:
    root = tmp_path / "builds"
    cache = BuildCache(root)
    with another_process(root, 60.0) as victim:
        assert said(victim) == "building"
        assert cache.get(KEY) is None, "a build that is not finished must not be seen"
        os.kill(victim.pid, signal.SIGKILL)
        assert victim.wait(10) == -signal.SIGKILL
    assert cache.get(KEY) is None
    folder, made = cache.build(KEY, Count())
    assert made
    assert not (folder / "half").exists(), "the next build started from the killed one's files"
    assert left_in(root) == {KEY}


def test_folder_without_manifest_is_replaced(tmp_path: Path) -> None:
    """As left behind by a disk that was full, or by a person."""
    (tmp_path / KEY).mkdir()
    (tmp_path / KEY / "half").write_text("half of it")
    cache = BuildCache(tmp_path)
    assert cache.get(KEY) is None
    folder, made = cache.build(KEY, Count())
    assert made
    assert [path.name for path in folder.iterdir()] == ["result"]


def test_lock_is_let_go_of_when_its_block_raises(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), locked(tmp_path / "deep" / "lock"):
        raise ZeroDivisionError
    with locked(tmp_path / "deep" / "lock"):
        pass


@dataclass(frozen=True)
class OtherCompiler(CppBackend):
    """The same language where another compiler is installed."""

    def fingerprint(self) -> str:
        return "2.13.0 g++ 99.1"


@pytest.mark.parametrize(
    ("change", "backend", "same"),
    [
        ({}, CppBackend(), True),
        ({"contestant": "somebody", "sample": 3, "problem": "1/2", "origin": "a.py"}, CppBackend(), True),
        ({"source": "class ModelNew: pass"}, CppBackend(), False),
        ({"source": "class ModelNew: ... "}, CppBackend(), False),
        ({}, backend_named("cuda"), False),
        ({}, OtherCompiler(), False),
    ],
)
def test_key_is_source_backend_and_compiler(change: dict[str, object], backend: Backend, same: bool) -> None:
    mine = Candidate(problem="1/1", source="class ModelNew: ...", backend="cpp")
    key = build_key(mine, CppBackend())
    assert len(key) == 24
    assert (build_key(mine.model_copy(update=change), backend) == key) is same


def test_extension_key_is_everything_that_is_compiled() -> None:
    base = extension_key("n", "int f();", {"functions": ["f"]})
    elsewhere = {"functions": ["f"], "verbose": True, "build_directory": "/b"}
    assert base == extension_key("n", "int f();", elsewhere)
    others = [
        extension_key("n", "int g();", {"functions": ["f"]}),
        extension_key("n", "int f();", {"functions": ["f"], "extra_cflags": ["-O3"]}),
        extension_key("n", "int f();", {"functions": ["f"], "cuda_sources": "k"}),
        extension_key("m", "int f();", {"functions": ["f"]}),
    ]
    assert len({base, *others}) == 5


# Two extensions of one name in one file, and that name again in another candidate. Compiles in a second.
NAMED = '''
import torch
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <Python.h>
#define JOIN(a, b) a##b
#define INIT(name) JOIN(PyInit_, name)
static PyObject* answer(PyObject*, PyObject*) { return PyLong_FromLong(ANSWER); }
static PyMethodDef methods[] = {{"answer", answer, METH_NOARGS, ""}, {nullptr, nullptr, 0, nullptr}};
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "same", nullptr, -1, methods};
PyMODINIT_FUNC INIT(TORCH_EXTENSION_NAME)() { return PyModule_Create(&module); }
"""


def answer(number):
    source = SOURCE.replace("ANSWER", str(number))
    return load_inline(name="same", cpp_sources=[source], no_implicit_headers=True).answer()


assert [answer(FIRST), answer(SECOND), answer(FIRST)] == [FIRST, SECOND, FIRST]
'''

needs_compiler = pytest.mark.skipif(
    CppBackend().missing("cpu") is not None, reason=CppBackend().missing("cpu") or "a compiler is here"
)


def named(first: int, second: int) -> Candidate:
    source = NAMED.replace("FIRST", str(first)).replace("SECOND", str(second))
    return Candidate(problem="1/1", source=source, backend="cpp")


@needs_compiler
def test_equal_extension_names_do_not_collide(session: Session) -> None:
    """Each candidate, and each call within one, gets what it has written itself."""
    one, two = (session.supervisor.build(named(first, 30), "cpu") for first in (10, 20))
    assert one.made and two.made
    assert one.folder is not None and two.folder is not None
    assert one.folder != two.folder
    for built in (one, two):
        assert built.folder is not None
        assert len(list(built.folder.glob("extensions/*/*.so"))) == 2


@needs_compiler
def test_second_build_starts_no_process(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """No compiler, not even a worker: found by a supervisor that has no way to start one."""
    first = session.supervisor.build(named(40, 50), "cpu")
    assert first.made
    monkeypatch.setattr(sys, "executable", "/nonexistent")
    cache = session.settings.cache
    zygote = Zygote(session.settings)
    bounds = Bounds(zygote, cache)
    builds, screening = BuildCache(cache / "builds"), Screening(zygote, cache / "screening")
    supervisor = Supervisor(zygote, builds, screening, bounds, MemoryFit(bounds, None))
    found = supervisor.build(named(40, 50), "cpu")
    assert (found.folder, found.made, found.log) == (first.folder, False, "")
    with pytest.raises(MachineError, match="/nonexistent"):
        supervisor.build(named(40, 51), "cpu")


@needs_compiler
def test_failed_build_of_the_evaluator_leaves_nothing(session: Session) -> None:
    text = NAMED.replace("PyObject* answer(", "PyObject answer")
    broken = Candidate(problem="1/1", source=text, backend="cpp")
    key = key_of(broken, "cpu", None)
    builds = session.settings.cache / "builds"
    for _ in range(2):
        with pytest.raises(Failure):
            session.supervisor.build(broken, "cpu")
        assert (builds / "locks" / key).exists()
        # What other tests have begun may still be built there.
        assert not [name for name in left_in(builds) if name.startswith(key)]

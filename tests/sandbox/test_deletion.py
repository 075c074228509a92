"""Deleting what strangers leave: however deep, long, closed or many, and never with an exception."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kernelgauge.backends.cache import BuildCache
from kernelgauge.deletion import delete
from kernelgauge.sandbox.scratch import ScratchFolders

# Deeper than Python recurses.
DEEP = 1500
NOBODY = 65534


def nest(folder: Path, levels: int, name: str = "d") -> None:
    """Nested folders with a file in each, made by descriptor: no path is long enough."""
    place = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir(name, dir_fd=place)
        os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=place))
        inner = os.open(name, os.O_RDONLY, dir_fd=place)
        os.close(place)
        place = inner
    os.close(place)


@pytest.fixture(autouse=True)
def nothing_left(tmp_path: Path) -> Iterator[None]:
    """pytest cannot delete what these tests make, where one fails."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for path in tmp_path.iterdir():
            if path.is_dir():
                delete(path)


def as_a_user(folder: Path, work: Callable[[], None]) -> int:
    """The exit status of a process that does this as an ordinary user, who owns the folder."""
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.chown(folder, NOBODY, NOBODY)
                for above in folder.parents[:-2]:
                    above.chmod(0o755)
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            work()
        except BaseException:  # boundary: a forked test must not go on as a second pytest
            traceback.print_exc()
            os._exit(70)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.parametrize(("levels", "name"), [(2500, "d"), (DEEP, "long" * 60)])
def test_folders_that_are_thousands_deep(tmp_path: Path, levels: int, name: str) -> None:
    folder = tmp_path / "filled"
    folder.mkdir()
    nest(folder, levels, name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        delete(folder)
    assert list(tmp_path.iterdir()) == []


def test_few_descriptors_are_enough(tmp_path: Path) -> None:
    folder = tmp_path / "filled"
    folder.mkdir()
    nest(folder, 300)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    in_use = max(map(int, os.listdir("/proc/self/fd")))  # noqa: PTH208
    resource.setrlimit(resource.RLIMIT_NOFILE, (in_use + 8, limits[1]))
    try:
        delete(folder)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert not folder.exists()


def test_names_of_any_bytes_links_pipes_and_many_files(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").touch()
    folder = tmp_path / "filled"
    (folder / "inner").mkdir(parents=True)
    for name in (b"\xff\xfe", b"a\nb", b"-rf", b"x" * 255):
        os.mkdir(os.path.join(os.fsencode(folder), name))  # noqa: PTH102, PTH118
        os.close(os.open(os.path.join(os.fsencode(folder), b"inner", name), os.O_CREAT))  # noqa: PTH118
    (folder / "inner" / "link").symlink_to(outside)
    (folder / "loop").symlink_to(folder)
    os.mkfifo(folder / "inner" / "pipe")
    for number in range(5000):
        (folder / "inner" / str(number)).touch()
    delete(folder)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["outside"]
    assert (outside / "kept").exists()


def test_what_is_not_there_is_no_matter(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        delete(tmp_path / "gone")
        delete(tmp_path / "never" / "was")


@pytest.mark.processes
def test_folders_closed_to_their_owner(tmp_path: Path) -> None:
    folder = tmp_path / "user"
    folder.mkdir()

    def work() -> None:
        for mode in (0, 0o100, 0o400, 0o500):
            inner = folder / "filled" / f"{mode:o}" / "deeper" / "still"
            inner.mkdir(parents=True)
            (inner / "large").write_bytes(b"0" * 1000)
            for closed in (inner, inner.parent, inner.parent.parent):
                closed.chmod(mode)
        (folder / "filled").chmod(0)
        delete(folder / "filled")
        assert list(folder.iterdir()) == []

    assert as_a_user(folder, work) == 0


@pytest.mark.processes
@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes files that nobody may delete")
def test_what_cannot_be_deleted_is_named_and_hinders_nobody(tmp_path: Path) -> None:
    root = tmp_path / "scratch"
    stubborn = root / "session-abandoned" / "worker" / "kept"
    stubborn.parent.mkdir(parents=True)
    (stubborn.parent / "other").touch()
    stubborn.touch()
    if subprocess.run(["chattr", "+i", stubborn], capture_output=True).returncode:
        pytest.skip("this file system has no such attribute")
    try:
        folders = ScratchFolders(root)
        with pytest.warns(UserWarning, match="session-abandoned could not be deleted, delete it by hand: .*kept|not"):
            made = folders.make("worker")
        assert made.is_dir()
        folders.close()
        assert [path.name for path in root.iterdir()] == ["session-abandoned"]
        left = [path.name for path in root.rglob("*") if path.is_file()]
        assert left == ["kept"]
    finally:
        for path in root.rglob("kept"):
            subprocess.run(["chattr", "-i", path], check=True)


def test_a_session_sweeps_what_a_killed_one_has_nested(tmp_path: Path) -> None:
    abandoned = tmp_path / "session-abandoned"
    abandoned.mkdir()
    nest(abandoned, DEEP)
    (tmp_path / "no folder").touch()
    folders = ScratchFolders(tmp_path)
    assert folders.make("worker").is_dir()
    assert not abandoned.exists()
    folders.close()


def test_a_build_that_fails_leaves_nothing_in_the_cache(tmp_path: Path) -> None:
    cache = BuildCache(tmp_path)

    def make(folder: Path) -> None:
        nest(folder, DEEP)
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        cache.build("key", make)
    assert list((tmp_path / "staging").iterdir()) == []
    folder, made = cache.build("key", lambda folder: (folder / "fine").touch())
    assert made and (folder / "fine").exists()


@pytest.mark.proof("sandbox", "worker")
def test_a_build_nested_too_deeply_is_refused_and_deleted(tmp_path: Path) -> None:
    """In a process with little room for recursion, as threads of a server have."""
    script = """
import sys
from pathlib import Path
from kernelgauge.evaluation.sides.build_files import Unfit, copy_build, files_of
sys.path.insert(0, sys.argv[2])
from test_deletion import nest
folder = Path(sys.argv[1])
(folder / "build").mkdir()
nest(folder / "build", int(sys.argv[3]))
print(sum(1 for _ in files_of(folder / "build")) > 900)
try:
    copy_build(folder / "build", folder / "copy")
    print("copied")
except Unfit as error:
    print(f"{type(error).__name__}: {str(error)[:55]}")
"""
    for levels, due in ((DEEP, "copied"), (2100, "Unfit: its build cannot be read: [Errno 36] File name too long")):
        folder = tmp_path / str(levels)
        folder.mkdir()
        command = [sys.executable, "-c", script, str(folder), str(Path(__file__).parent), str(levels)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.stdout.splitlines() == ["True", due], done.stderr[-2000:]
        delete(folder)
        assert not folder.exists()

"""Folders that a stranger has filled go, however deep they are nested, and nobody who deletes them is ended by it."""

from __future__ import annotations

import os
import tracemalloc
import warnings
from pathlib import Path

import pytest

from kernelgauge.evaluation.build_files import Unfit, copy_build, files_of
from kernelgauge.evaluation.host_disk import stored
from kernelgauge.evaluation.scratch import ScratchFolders
from kernelgauge.folders import delete, walked

DEPTH = 5000


def nest(folder: Path, depth: int = DEPTH, name: str = "d") -> None:
    """Folders in folders, deeper than any path reaches, with a file in the last."""
    at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    for _ in range(depth):
        os.mkdir(name, dir_fd=at)
        inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=at)
        os.close(at)
        at = inner
    os.close(os.open("last", os.O_CREAT | os.O_WRONLY, dir_fd=at))
    os.close(at)


def test_what_is_nested_deeper_than_a_path_reaches_is_deleted(tmp_path: Path) -> None:
    folder = tmp_path / "filled"
    folder.mkdir()
    nest(folder)
    nest(folder, depth=50, name="n" * 200)
    (folder / "link").symlink_to(tmp_path)
    (folder / os.fsdecode(b"no \xff text")).write_text("")
    before = len(list(Path("/proc/self/fd").iterdir()))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        delete(folder)
        delete(folder)  # it is not there: nothing to do
    assert not folder.exists() and tmp_path.exists(), "a link leads nowhere"
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_many_entries_are_deleted_piece_by_piece(tmp_path: Path) -> None:
    folder = tmp_path / "filled"
    folder.mkdir()
    for number in range(20_000):
        os.close(os.open(folder / f"{number:0200}", os.O_CREAT | os.O_WRONLY))
    tracemalloc.start()
    delete(folder)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert not folder.exists()
    assert most < 4 << 20, "no list of all their names"


def test_what_cannot_be_deleted_is_named_and_ends_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root may delete everything but what is immutable, which not every file system knows."""
    folder = tmp_path / "filled"
    (folder / "inner").mkdir(parents=True)
    (folder / "kept").write_text("")
    unlink = os.unlink

    def refuses(name: str, **where: int) -> None:
        if name == "kept":
            raise PermissionError(1, "Operation not permitted")
        unlink(name, **where)

    monkeypatch.setattr(os, "unlink", refuses)
    with pytest.warns(UserWarning, match=f"{folder} could not be deleted whole"):
        delete(folder)
    assert [each.name for each in folder.iterdir()] == ["kept"], "all else went"


def test_a_session_sweeps_what_another_left_nested(tmp_path: Path) -> None:
    abandoned = tmp_path / "session-abandoned"
    abandoned.mkdir()
    nest(abandoned)
    folders = ScratchFolders(tmp_path)
    own = folders.make("worker")
    assert not abandoned.exists()
    nest(own)
    folders.close()
    assert list(tmp_path.iterdir()) == []


def test_a_nested_build_is_the_candidates_fault(tmp_path: Path) -> None:
    build = tmp_path / "build"
    build.mkdir()
    nest(build)
    with pytest.raises(Unfit, match="File name too long"):
        copy_build(build, tmp_path / "copy")
    assert list(files_of(build)) == []
    delete(build)
    delete(tmp_path / "copy")


def test_an_ordinary_build_is_copied(tmp_path: Path) -> None:
    build = tmp_path / "build"
    inner = build.joinpath(*map(str, range(30)))
    inner.mkdir(parents=True)
    (inner / "kernel.so").write_bytes(b"machine code")
    copy_build(build, tmp_path / "copy")
    assert [path.read_bytes() for path in (tmp_path / "copy").rglob("*.so")] == [b"machine code"]
    assert list(files_of(build)) == [b"machine code"]
    assert len(list(walked(build))) == 31


def test_what_lies_deeper_than_a_path_reaches_counts_as_too_much(tmp_path: Path) -> None:
    nest(tmp_path, depth=60)
    assert stored([], 1 << 30, [tmp_path]) < 1 << 30
    delete(tmp_path / "d")
    nest(tmp_path)
    assert stored([], 1 << 30, [tmp_path]) > 1 << 30
    delete(tmp_path / "d")

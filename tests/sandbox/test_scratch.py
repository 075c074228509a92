"""Scratch folders go with their session, also with one that was killed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kernelgauge.sandbox.scratch import ScratchFolders

pytestmark = pytest.mark.processes

MAKE_ONE_AND_WAIT = """
import sys, time
from pathlib import Path
import pytest

from kernelgauge.sandbox.scratch import ScratchFolders
print(ScratchFolders(Path(sys.argv[1])).make("worker"), flush=True)
time.sleep(600)
"""


def test_a_killed_session_is_swept_by_the_next_and_a_living_one_is_not(tmp_path: Path) -> None:
    command = [sys.executable, "-c", MAKE_ONE_AND_WAIT, str(tmp_path)]
    killed, living = (subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2))
    try:
        assert killed.stdout and living.stdout
        abandoned, kept = (Path(process.stdout.readline().strip()) for process in (killed, living))
        (abandoned / "large").write_bytes(b"0" * 1000)
        killed.kill()
        killed.wait()
        assert abandoned.exists()

        folders = ScratchFolders(tmp_path)
        own = folders.make("worker")
        assert not abandoned.parent.exists()
        assert kept.exists() and own.exists()
        folders.close()
        assert not own.parent.exists()
        assert kept.exists()
    finally:
        for process in (killed, living):
            process.kill()
            process.wait()

"""`kernelgauge` in this process: without the seconds that another one takes to start and to import PyTorch.

A process of its own is for signals, standard input, a terminal, and limits that the system sets.
"""

from __future__ import annotations

import io
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from kernelgauge.cli.main import main


def command_here(*arguments: str, folder: Path | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
    """What a command printed and its exit code, as of a process with these arguments, folder and variables."""
    said, complained = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(said), redirect_stderr(complained):
        patch.setattr(sys, "argv", ["kernelgauge", *arguments])
        for name, value in variables.items():
            patch.setenv(name, value)
        if folder is not None:
            patch.chdir(folder)
        with pytest.raises(SystemExit) as ended:
            main()
    return subprocess.CompletedProcess(arguments, int(ended.value.code or 0), said.getvalue(), complained.getvalue())

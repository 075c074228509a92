"""Asks a process of its own about a model, whose code has no place in the parent: JSON in, JSON out."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import Any

from kernelgauge.errors import MachineError, ProblemError
from kernelgauge.hardware.environment import visible_devices

_SECONDS = 1800.0


def asked_of(module: str, request: dict[str, Any], what: str, device: str) -> dict[str, Any]:
    """What a process of its own answers. Raises ProblemError with the end of what it said if it fails."""
    sees = {} if device == "cpu" else {"CUDA_VISIBLE_DEVICES": visible_devices(device)}
    if device != "cpu":
        request = {**request, "device": "cuda"}
    with subprocess.Popen(
        [sys.executable, "-m", module],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **sees},
        text=True,
        errors="replace",
        start_new_session=True,
    ) as child:
        try:
            out, err = child.communicate(json.dumps(request), timeout=_SECONDS)
        except BaseException as error:  # ctrl-C too: in a session of its own, the child would not hear of it
            os.killpg(child.pid, signal.SIGKILL)
            if isinstance(error, subprocess.TimeoutExpired):
                raise ProblemError(f"{what} took longer than {_SECONDS:g} s") from error
            raise
    if child.returncode == -signal.SIGKILL:
        raise MachineError(f"the process of {what} was killed from outside; is this machine out of memory?")
    if child.returncode:
        last = (err.strip().splitlines() or ["no message"])[-1]
        raise ProblemError(f"{what} fails: {last}")
    found: dict[str, Any] = json.loads(out)
    return found

"""A text with a `Model`, and what it runs on, found in a process of its own (`trial`)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from typing import Any

from kernelgauge.errors import MachineError
from kernelgauge.pairs.module import Module, NoModule, NotInTime, Provenance
from kernelgauge.sandbox.start import import_path

_SECONDS = 120.0
_UNDER_WAY: set[subprocess.Popen[str]] = set()
_STARTING = threading.Lock()
_stopped = False


def inferred(name: str, text: str, provenance: Provenance, tags: tuple[str, ...]) -> Module:
    """A module whose arguments, inputs and sizes were found by trying; parameters that say nothing are drawn.

    Raises:
        NoModule: nothing was found that it runs on, or its code fails, takes too much memory or ends its process.
        NotInTime: the search took too long.
        MachineError: the process was killed from outside.
    """
    found = _asked(text)
    if "reason" in found:
        raise NoModule(found["reason"])
    if not found["sizes"]:
        raise NoModule("no inputs were found that it runs on at a reduced size")
    return Module(
        name=name,
        source=found["source"],
        sizes=found["sizes"],
        domains=found["domains"],
        tags=tags,
        provenance=provenance,
    )


def abandon() -> None:
    """End every search of this process and begin none until `resume`; who wants one gets a `MachineError`."""
    global _stopped
    with _STARTING:
        _stopped = True
        for child in _UNDER_WAY:
            _kill(child)


def resume() -> None:
    """Search again after `abandon`."""
    global _stopped
    _stopped = False


def _started(scratch: str) -> subprocess.Popen[str]:
    with _STARTING:
        if _stopped:
            raise MachineError("searches were stopped")
        child = subprocess.Popen(
            [sys.executable, "-m", "kernelgauge.sandbox.start", "kernelgauge.pairs.trial"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=scratch,
            env=os.environ | import_path() | {"CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"},
            text=True,
            start_new_session=True,
        )
        _UNDER_WAY.add(child)
        return child


def _asked(text: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="kernelgauge-trial-") as scratch:
        child = _started(scratch)
        try:
            out, _ = child.communicate(json.dumps({"text": text}), timeout=_SECONDS)
        except subprocess.TimeoutExpired:
            raise NotInTime(f"no inputs were found that it runs on within {_SECONDS:g} s") from None
        finally:
            with _STARTING:
                _UNDER_WAY.discard(child)
            _kill(child)
            child.wait()
    if child.returncode == -signal.SIGKILL:
        raise MachineError("the process that tries a module was killed from outside; is this machine out of memory?")
    try:
        answer: dict[str, Any] = json.loads(out)
    except ValueError:
        raise NoModule(f"its code ended its process (status {child.returncode})") from None
    return answer


def _kill(child: subprocess.Popen[str]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)

"""A worker under Nsight Compute: the sealed process becomes ncu, and ncu starts the worker anew inside itself.

    worker's process ──exec──> ncu ──fork, exec──> this module: isolate ──exec──> this module: serve
    (namespaces, limits)                           around files, calls         loads the candidate

Attaching ncu to a forked worker is not possible, and starting it outside the seal would put the candidate outside as
well. So ncu runs inside: in the worker's own network namespace (whose loopback interface is up, for ncu talks to its
target over it), process namespace and limits, without any capability. Only the isolation layers around files and
system calls go up later, in the target: CUDA must write below its own /proc/self, and which process that is no
earlier one can know. They go up in a process that then replaces itself, for they bind no thread that runs already,
and ncu's library may have some.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from pathlib import Path

from kernelgauge.sandbox.isolation import Files, close_files
from kernelgauge.sandbox.landlock import ReadablePaths
from kernelgauge.wire.candidate_commands import StartNcu
from kernelgauge.wire.commands import receive_command
from kernelgauge.wire.messages import send

_MODULE = "kernelgauge.worker.under_ncu"
_FILES = "KERNELGAUGE_FILES"
"""Environment variable that hands the isolation layers to the target."""
_CHANNEL = 0
"""As standard input, the channel survives whatever ncu does to descriptors."""


def serve(channel: socket.socket) -> None:
    """Become the command that the parent names, around a worker on the same channel."""
    request = receive_command(channel)
    assert isinstance(request, StartNcu)
    os.dup2(channel.fileno(), _CHANNEL)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    inner = _python("isolate" if request.sealed else "serve")
    os.execve(request.line[0], [*request.line, *inner], environment)


def _python(step: str) -> list[str]:
    # -P: the scratch folder, where this runs, is no place to import from.
    return [sys.executable, "-P", "-u", "-m", _MODULE, step]


def postpone(files: Files) -> None:
    """Leave these isolation layers to the target, which inherits the environment."""
    described = {
        "writable": [str(path) for path in files.writable],
        "view": files.view and [files.view.whole, files.view.listed],
        "any_call": files.any_call,
    }
    os.environ[_FILES] = json.dumps(described)


def _postponed() -> Files:
    """The isolation layers that were left to this process."""
    described = json.loads(os.environ.pop(_FILES))
    whole, listed = described["view"] or ((), ())
    view = ReadablePaths(tuple(whole), tuple(listed)) if described["view"] else None
    return Files([Path(path) for path in described["writable"]], view, described["any_call"])


def _put_up_layers() -> None:
    close_files(_postponed(), profiled=True)
    os.execv(sys.executable, _python("serve"))


def _serve() -> None:
    from kernelgauge.worker import candidate

    channel = socket.socket(fileno=os.dup(_CHANNEL))
    os.dup2(os.open(os.devnull, os.O_RDONLY), _CHANNEL)
    send(channel, {"event": "ready"})
    try:
        candidate.serve(channel)
    except (EOFError, BrokenPipeError):
        pass  # the parent has hung up: an orderly end, at which ncu writes its report


if __name__ == "__main__":
    {"isolate": _put_up_layers, "serve": _serve}[sys.argv[1]]()

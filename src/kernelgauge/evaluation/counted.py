"""A worker under Nsight Compute: the sealed process becomes ncu, and ncu starts the worker anew inside itself.

    worker's process ──exec──> ncu ──fork, exec──> this module: wall ──exec──> this module: serve
    (namespaces, limits)                           around files                loads the candidate

Attaching ncu to a forked worker is not possible, and starting it outside the seal would put the candidate outside as
well. So ncu runs inside: in the worker's own network namespace (whose loopback interface is up, for ncu talks to its
target over it), process namespace and limits, without any capability. Only the wall around files goes up later, in
the target: CUDA must write below its own /proc/self, and which process that is no earlier one can know. It goes up in
a process that then replaces itself, for Landlock binds no thread that runs already, and ncu's library may have some.
"""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

from kernelgauge.evaluation.channel import receive, send

_MODULE = "kernelgauge.evaluation.counted"
_CHANNEL = 0
"""As standard input, the channel survives whatever ncu does to descriptors."""


def serve(channel: socket.socket) -> None:
    """Become the command that the parent names, around a worker on the same channel."""
    request, _ = receive(channel)
    os.dup2(channel.fileno(), _CHANNEL)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    inner = _python("wall" if request["sealed"] else "serve")
    os.execve(request["command"][0], [*request["command"], *inner], environment)


def _python(step: str) -> list[str]:
    # -P: the scratch folder, where this runs, is no place to import from.
    return [sys.executable, "-P", "-u", "-m", _MODULE, step]


def _put_up_wall() -> None:
    from kernelgauge.evaluation.isolation import allow_writing
    from kernelgauge.evaluation.launcher import device_files

    allow_writing([Path.cwd(), *device_files("cuda")])
    os.execv(sys.executable, _python("serve"))


def _serve() -> None:
    from kernelgauge.evaluation import worker

    channel = socket.socket(fileno=os.dup(_CHANNEL))
    os.dup2(os.open(os.devnull, os.O_RDONLY), _CHANNEL)
    send(channel, {"event": "ready"})
    try:
        worker.serve(channel)
    except (EOFError, BrokenPipeError):
        pass  # the parent has hung up: an orderly end, at which ncu writes its report


if __name__ == "__main__":
    {"wall": _put_up_wall, "serve": _serve}[sys.argv[1]]()

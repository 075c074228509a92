"""The zygote: a process that has imported torch once and forks a sealed worker on request.

It never reads a problem or a candidate, never touches CUDA and starts no thread, so every fork is as good as a
fresh process and takes milliseconds instead of seconds. Asked to, it forks a branch: a zygote that imports more.
Between zygote and worker stands a reaper, which owns the worker's namespaces, waits for it and reports how it ended
on a pipe the worker cannot write to.

    parent ── requests ──> zygote ── fork ──> reaper ── fork ──> worker
       ^────────────────── exit status ─────────┘                  │
       ^────────────────── claims ─────────────────────────────────┘
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import signal
import socket
import sys
import tempfile
import traceback
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import torch

from kernelgauge.sandbox import freeze, isolation, readable
from kernelgauge.sandbox.host_memory import SHARED_MEMORY
from kernelgauge.sandbox.isolation import Files
from kernelgauge.sandbox.landlock import ReadablePaths
from kernelgauge.sandbox.resource_usage import count
from kernelgauge.sandbox.start import importing
from kernelgauge.wire.messages import receive, send
from kernelgauge.worker import candidate, describer, oracle, under_ncu

_ROLES = {"worker": candidate.serve, "oracle": oracle.serve, "describer": describer.serve, "ncu": under_ncu.serve}
_EXIT_SETUP_FAILED = 97
# CUDA_ERROR_NOT_INITIALIZED
_NOT_INITIALISED = 3


@cache
def _readable_paths(visible: tuple[str, ...], private: tuple[str, ...]) -> ReadablePaths:
    """What processes may read of the machine, themselves apart; worked out before they are forked."""
    python = readable.of_python()
    return readable.apart_from(ReadablePaths((*visible, *python.whole), python.listed), private)


def _files(request: dict[str, Any]) -> Files:
    """The isolation layers around the files of the process that a request describes."""
    writable = [Path(path) for path in (request["scratch"], *request["writable"])]
    seen = None
    if "reads" not in request["without"]:
        seen = _readable_paths(tuple(request["visible"]), tuple(request["private"]))
        seen = ReadablePaths((*seen.whole, request["given"]), seen.listed)
    return Files(writable, seen, any_call="syscalls" in request["without"])


def _enter(request: dict[str, Any], own_namespaces: bool, channel: socket.socket, log: int) -> list[str]:
    """Turn the freshly forked process into the one the request describes; returns the isolation layers that stand."""
    scratch = Path(request["scratch"])
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.closerange(3, channel.fileno())
    os.closerange(channel.fileno() + 1, 1024)
    os.environ.clear()
    os.environ.update(request["environment"])
    tempfile.tempdir = None  # a module the zygote has imported may have asked already, for what were its own folders
    os.chdir(scratch)
    sys.path[:] = [entry for entry in sys.path if entry]
    torch.set_num_threads(request["threads"])
    if not request["sealed"]:
        return []
    files = _files(request)
    if request["role"] == "worker":
        isolation.die_first()
    if request["role"] == "ncu":
        under_ncu.postpone(files)
        return isolation.close_in(own_namespaces, None, request["memory_bytes"], request["file_bytes"])
    return isolation.close_in(own_namespaces, files, request["memory_bytes"], request["file_bytes"])


def _become(
    request: dict[str, Any], own_namespaces: bool, outer_layers: list[str], channel_fd: int, log: int
) -> None:
    isolation.die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        channel = socket.socket(fileno=channel_fd)
        layers = outer_layers + _enter(request, own_namespaces, channel, log)
        send(channel, {"event": "ready", "layers": layers})
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(_EXIT_SETUP_FAILED)
    try:
        _ROLES[request["role"]](channel)
    except (EOFError, BrokenPipeError):
        pass
    os._exit(0)


def _hold_namespace(control: int, folders: list[Path], machines_own: int) -> None:
    """First process of a namespace: reaps orphans, takes all with it when it ends.

    On the order `stop` it stops all others; to that and to `tell` it answers with a `freeze.Running`, to `held N`
    and `stored N` with the bytes of memory and, in these folders, of disk that they hold; see `resource_usage`.

    Args:
        machines_own: the device of the machine's `SHARED_MEMORY`: another one there is the namespace's own.
    """
    isolation.die_with_parent()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    os.closerange(0, control)
    os.closerange(control + 1, 1024)
    parent = socket.socket(fileno=control)
    while order := parent.recv(32):
        if order.startswith((b"held ", b"stored ")):
            closed_in = _device_of_shared_memory() not in (0, machines_own)
            parent.send(b"%d" % count(order, freeze.others(), folders, closed_in))
        else:
            found = freeze.stop_others() if order == b"stop" else freeze.running()
            parent.send(found.encode())
    os._exit(0)


def _device_of_shared_memory() -> int:
    """0 where there is none."""
    return SHARED_MEMORY.stat().st_dev if SHARED_MEMORY.is_dir() else 0


def _keep(request: dict[str, Any], channel_fd: int, status_fd: int, log: int, control: int) -> None:
    """Fork the worker inside its namespaces, wait for it, report how it ended.

    The worker is not the namespace's first process: that one ignores signals such as its own abort().
    """
    os.setsid()
    isolation.die_with_parent()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    layers = isolation.leave_namespaces() if request["sealed"] else []
    if layers and request["role"] == "ncu":
        isolation.raise_loopback()
    machines_own = _device_of_shared_memory()  # before there is a worker, which puts its own in its place
    holder = os.fork() if layers else 0
    if layers and holder == 0:
        _hold_namespace(control, _files(request).folders, machines_own)
    os.close(control)
    pid = os.fork()
    if pid == 0:
        os.close(status_fd)
        os.setpgid(0, 0)
        _become(request, bool(layers), layers, channel_fd, log)
    os.close(channel_fd)
    os.write(status_fd, json.dumps({"pid": pid, "holder": holder}).encode() + b"\n")
    _, status = os.waitpid(pid, 0)
    if holder:
        os.kill(holder, signal.SIGKILL)
        os.waitpid(holder, 0)
    os.write(status_fd, json.dumps({"status": os.waitstatus_to_exitcode(status)}).encode() + b"\n")
    os._exit(0)


def _started_device() -> bool:
    """Whether something here has started CUDA: it fails then in every process forked from this one."""
    try:
        driver = ctypes.CDLL("libcuda.so.1", mode=os.RTLD_NOLOAD)
    except OSError:
        return False
    return int(driver.cuDeviceGetCount(ctypes.byref(ctypes.c_int()))) != _NOT_INITIALISED


def _leave_driver() -> None:
    """Undo what asking for GPUs has left: NVML's open files and thread are nothing to fork."""
    try:
        management = ctypes.CDLL("libnvidia-ml.so.1", mode=os.RTLD_NOLOAD)
    except OSError:
        return
    while management.nvmlShutdown() == 0:  # once for each time that it was started
        pass


def _preload(modules: list[str]) -> None:
    with importing():
        for module in modules:
            import_module(module)
    if (settings := sys.modules.get("torch._inductor.config")) is not None:
        # They would lie in the folder for temporary files of this process. An older torch does not read this from
        # the environment.
        settings.cpp_cache_precompile_headers = False  # type: ignore[attr-defined]


def _branch(modules: list[str], requests: int) -> None:
    """Become a zygote that has imported these modules too, and that ends with the one it was forked from."""
    isolation.die_with_parent()
    try:
        channel = socket.socket(fileno=requests)
        _preload(modules)
        _serve(channel)
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        raise
    os._exit(0)


def _serve(requests: socket.socket) -> None:
    """Fork what is asked for until the parent goes away."""
    _leave_driver()
    send(requests, {"event": "ready", "started_device": _started_device()})
    while True:
        try:
            request, descriptors = receive(requests)
        except EOFError:
            return
        if request.get("sealed"):
            _files(request)
        gc.freeze()
        if (pid := os.fork()) == 0:
            requests.close()
            try:
                if "branch" in request:
                    _branch(request["branch"], *descriptors)
                _keep(request, *descriptors)
            finally:
                os._exit(_EXIT_SETUP_FAILED)
        if "branch" in request:
            send(requests, {"event": "branched", "pid": pid})
        for descriptor in descriptors:
            os.close(descriptor)


def main() -> None:
    """Serve requests from the socket on descriptor `argv[1]`.

    The end of that socket is the only sign of the parent's: the kernel's own signal would follow the thread that
    started us.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _serve(socket.socket(fileno=int(sys.argv[1])))

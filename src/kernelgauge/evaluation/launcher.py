"""The parent's handle on the zygote, and what a request for a fork says."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Literal

from kernelgauge.backends.base import search_path
from kernelgauge.config import Settings
from kernelgauge.errors import MachineError
from kernelgauge.evaluation.channel import receive, send
from kernelgauge.evaluation.scratch import ScratchFolders
from kernelgauge.hardware import memory_bytes, visible_devices

Role = Literal["worker", "oracle", "examiner", "counted"]

KEEP_FREED_MEMORY = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(2**46)}
"""Environment under which freed memory stays with the process, as with the caching allocator on a GPU.

Otherwise every output above 32 MiB costs a page fault per 4 KiB in every call, three times the kernel itself.
"""

TORCH_INDUCTOR = {"TORCHINDUCTOR_COMPILE_THREADS": "1", "TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS": "0"}
"""One compiler at a time, and no precompiled headers: those lie outside the cache, where a worker cannot write."""

_START_SECONDS = 60.0


class Zygote:
    """The process that forks sealed workers; started on first use, restarted if it dies."""

    def __init__(self, settings: Settings):
        self.settings = settings
        self.scratch = ScratchFolders(settings.cache / "scratch")
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        self._lock = threading.Lock()

    def _start(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # The zygote's own environment is what every worker could read in /proc: only what it needs, no keys.
        environment = {
            "PATH": search_path(),
            "LANG": "C.UTF-8",
            "HOME": "/nonexistent",
            "OMP_NUM_THREADS": str(self.settings.threads),
            "OPENBLAS_NUM_THREADS": "1",
            **TORCH_INDUCTOR,
            **KEEP_FREED_MEMORY,
        }
        for name in ("LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "PYTHONPATH"):
            if name in os.environ:
                environment[name] = os.environ[name]
        self._process = subprocess.Popen(
            [sys.executable, "-u", "-m", "kernelgauge.evaluation.zygote", str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            env=environment,
            stdin=subprocess.DEVNULL,
            cwd="/",
        )
        theirs.close()
        ours.settimeout(_START_SECONDS)
        try:
            receive(ours)
        except (EOFError, OSError) as error:
            self._process.kill()
            self._process.wait()
            self._process = None
            ours.close()
            raise MachineError(f"the worker zygote did not start: {error}") from error
        self._socket = ours

    def fork(self, request: dict[str, Any], descriptors: list[int]) -> None:
        """Fork one worker; `descriptors`: its channel, status pipe, log, and the control of its namespace."""
        with self._lock:
            if self._process is None or self._process.poll() is not None:
                self._start()
            assert self._socket is not None
            try:
                send(self._socket, request, descriptors)
            except OSError as error:
                raise MachineError(f"the worker zygote is gone: {error}") from error

    def close(self) -> None:
        """End the zygote and with it every process forked from it."""
        with self._lock:
            if self._socket is not None:
                self._socket.close()
                self._socket = None
            if self._process is not None:
                self._process.kill()
                self._process.wait()
                self._process = None
            self.scratch.close()


def fork_request(
    settings: Settings,
    role: Role,
    device: str,
    scratch: Path,
    environment: dict[str, str],
    sealed: bool,
    writable: tuple[Path, ...],
    preload: tuple[str, ...],
) -> dict[str, Any]:
    """What the zygote is told of a process to fork; the arguments are those of `process.WorkerProcess`."""
    return {
        "role": role,
        "scratch": str(scratch),
        "threads": settings.threads,
        "preload": preload,
        "sealed": sealed,
        "writable": [str(path) for path in (*writable, *device_files(device))],
        "memory_bytes": _memory_limit(settings) if device == "cpu" and sealed else None,
        "file_bytes": int(settings.limits.file_gb * 2**30),
        "environment": _environment(settings, device, scratch, environment),
    }


def device_files(device: str) -> list[Path]:
    """What a worker must be able to write to for its device to start: CUDA names its threads below /proc/self."""
    return [*sorted(Path("/dev").glob("nvidia*")), Path("/proc/self")] if device.startswith("cuda") else []


def _memory_limit(settings: Settings) -> int:
    if settings.limits.memory_gb is not None:
        return int(settings.limits.memory_gb * 2**30)
    return memory_bytes() // 2


def hub_cache() -> str:
    """The folder in which the Hugging Face hub keeps published weights, as its own library finds it.

    Workers have another home, and no network: what is not there already cannot be loaded.
    """
    home = os.environ.get("HF_HOME") or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "huggingface")
    return str(Path(os.environ.get("HF_HUB_CACHE") or Path(home, "hub")).expanduser().absolute())


def worker_device(device: str) -> str:
    """What a process forked for this device calls it: it sees no other GPU."""
    return "cpu" if device == "cpu" else "cuda"


def _environment(settings: Settings, device: str, scratch: Path, extra: dict[str, str]) -> dict[str, str]:
    base = {
        "PATH": search_path(),
        "LANG": "C.UTF-8",
        "HOME": "{scratch}/home",
        "TMPDIR": "{scratch}/tmp",
        "TORCH_EXTENSIONS_DIR": "{scratch}/torch_extensions",
        "TORCHINDUCTOR_CACHE_DIR": "{scratch}/inductor",
        **TORCH_INDUCTOR,
        "OMP_NUM_THREADS": str(settings.threads),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HF_HUB_CACHE": hub_cache(),
        "HF_HUB_OFFLINE": "1",
    }
    base["CUDA_VISIBLE_DEVICES"] = "" if device == "cpu" else visible_devices(device)
    if "LD_LIBRARY_PATH" in os.environ:
        base["LD_LIBRARY_PATH"] = os.environ["LD_LIBRARY_PATH"]
    return {name: value.replace("{scratch}", str(scratch)) for name, value in (base | extra).items()}

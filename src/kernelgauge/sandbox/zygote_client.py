"""The parent's handle on the zygote, and what a request for a fork says."""

from __future__ import annotations

import os
import threading
import warnings
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Literal

from kernelgauge.backends.base import search_path
from kernelgauge.backends.registry import backend_named, names
from kernelgauge.config import Settings
from kernelgauge.errors import MachineError
from kernelgauge.hardware.environment import memory_bytes, visible_devices
from kernelgauge.sandbox import hidden, readable
from kernelgauge.sandbox.host_memory import SHARED_MEMORY
from kernelgauge.sandbox.scratch import ScratchFolders
from kernelgauge.sandbox.zygote_process import TORCH_INDUCTOR, BaseZygote, BranchZygote, ZygoteProcess
from kernelgauge.wire.messages import send

Role = Literal["worker", "oracle", "describer", "ncu"]

BESIDE_A_GPU = 4
"""Most CPU threads of a process whose work is done by a GPU."""


class Zygote:
    """The processes that fork sealed workers; each started on first use, restarted if it dies.

    One has imported PyTorch. For each set of preloaded modules there is a branch of it: what one backend preloads
    (TorchInductor brings Triton), or what describes problems, must not be in the processes of another, which may have
    to be told how to run before it is imported.
    """

    def __init__(self, settings: Settings):
        self.settings = settings
        self.scratch = ScratchFolders(settings.cache / "scratch")
        self._told = False
        hidden.left_out()  # what is misspelt is better said now
        self._base: BaseZygote | None = None
        self._branches: dict[tuple[str, ...], BranchZygote] = {}
        self._not_preloaded: set[tuple[str, ...]] = set()
        self._lock = threading.Lock()
        self._stopped = False

    def begin(self) -> None:
        """Start the base, which every evaluation needs; it is not waited for."""
        with self._lock:
            if not self._stopped:
                with suppress(OSError):  # whoever needs it will say so
                    self._started_base()

    def fork(self, request: dict[str, Any], descriptors: list[int]) -> None:
        """Fork one worker; `descriptors`: its channel, status pipe, log, and the control of its namespace."""
        with self._lock:
            if self._stopped:
                raise MachineError("evaluations were stopped")
            forker = self._forker(tuple(request["preload"]))
            try:
                send(forker.socket, request, descriptors)
            except OSError as error:
                raise MachineError(f"the worker zygote is gone: {error}") from error

    def _forker(self, preload: tuple[str, ...]) -> ZygoteProcess:
        """The one that has imported these modules; where that starts a GPU, the one that has imported none."""
        base = self._started_base()
        base.await_ready()
        if base.started_device:
            base.close()
            raise MachineError("PyTorch starts the GPU when it is imported: no process can be forked from it")
        if not preload or preload in self._not_preloaded:
            return base
        branch = self._branches.get(preload)
        if branch is None or not branch.alive():
            if branch is not None:
                branch.close()
            branch = self._branches[preload] = base.branch(preload)
        branch.await_ready()
        if branch.started_device:
            self._branches.pop(preload).close()
            self._not_preloaded.add(preload)
            return base
        return branch

    def _started_base(self) -> BaseZygote:
        if self._base is None or not self._base.alive():
            self._end()
            self._base = BaseZygote(self.settings)
        return self._base

    def _end(self) -> None:
        """End the base, and with it its branches."""
        for forker in (*self._branches.values(), self._base):
            if forker is not None:
                forker.close()
        self._branches.clear()
        self._base = None

    def check_layers(self, layers: tuple[str, ...]) -> None:
        """Say aloud, once, if layers are missing around a worker."""
        if not self._told and (missing := hidden.what_is_missing(layers)):
            self._told = True
            warnings.warn(missing, stacklevel=2)

    def stop(self) -> None:
        """End every process and start no more until `resume`."""
        self._stopped = True
        self.close()

    def resume(self) -> None:
        """Start processes again."""
        self._stopped = False

    def close(self) -> None:
        """End every process that forks, and with it those it has forked."""
        with self._lock:
            self._end()
            self.scratch.close()


def fork_request(
    settings: Settings,
    role: Role,
    device: str,
    scratch: Path,
    environment: dict[str, str],
    sealed: bool,
    writable: tuple[Path, ...],
    visible: tuple[Path, ...],
    given: Path,
    preload: tuple[str, ...],
) -> dict[str, Any]:
    """What the zygote is told of a process to fork; the arguments are those of `process.WorkerProcess`.

    Args:
        given: folder of this process alone that it may read.
    """
    shared_memory = [SHARED_MEMORY] if role == "worker" else []
    return {
        "role": role,
        "scratch": str(scratch),
        "given": str(given),
        "visible": [*_machine(), hub_cache(), *_libraries(), *map(str, visible)],
        "private": hidden.places(settings),
        "without": hidden.left_out(),
        "threads": cpu_threads(settings, device),
        "preload": list(preload),
        "sealed": sealed,
        "writable": [str(path) for path in (*writable, *device_files(device), *shared_memory)],
        "memory_bytes": memory_limit(settings, device) if device == "cpu" and sealed else None,
        "file_bytes": int(settings.limits.file_gb * 2**30),
        "environment": _environment(settings, device, scratch, environment),
    }


@cache
def _machine() -> list[str]:
    return readable.of_machine()


def _libraries() -> list[str]:
    found = [str(folder) for name in names() for folder in backend_named(name).libraries()]
    return list(dict.fromkeys(found))


def device_files(device: str) -> list[Path]:
    """What a worker must be able to write to for its device to start: CUDA names its threads below /proc/self."""
    return [*sorted(Path("/dev").glob("nvidia*")), Path("/proc/self")] if device.startswith("cuda") else []


def memory_limit(settings: Settings, device: str) -> int:
    """Bytes of the machine's memory that a worker may hold; beside a GPU, and to compile, always half of it."""
    if settings.limits.memory_gb is not None and device == "cpu":
        return int(settings.limits.memory_gb * 2**30)
    return memory_bytes() // 2


def hub_cache() -> str:
    """The folder in which the Hugging Face hub keeps published weights, as its own library finds it.

    Workers have another home, and no network: what is not there already cannot be loaded.
    """
    home = os.environ.get("HF_HOME") or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "huggingface")
    return str(Path(os.environ.get("HF_HUB_CACHE") or Path(home, "hub")).expanduser().absolute())


def cpu_threads(settings: Settings, device: str) -> int:
    """CPU threads of a process. Beside a GPU few: a dozen processes start there at once, each with a model to draw,
    and threads that wait for each other on a busy machine take longer than one."""
    return settings.threads if device == "cpu" else min(settings.threads, BESIDE_A_GPU)


def worker_device(device: str) -> str:
    """What a process forked for this device calls it: it sees no other GPU."""
    return "cpu" if device == "cpu" else "cuda"


def _environment(settings: Settings, device: str, scratch: Path, extra: dict[str, str]) -> dict[str, str]:
    base = {
        "PATH": search_path(),
        "LANG": "C.UTF-8",
        "HOME": "{scratch}/home",
        # Triton asks for its home when it is imported, which the zygote does in another one.
        "TRITON_HOME": "{scratch}/home",
        "TMPDIR": "{scratch}/tmp",
        "TORCH_EXTENSIONS_DIR": "{scratch}/torch_extensions",
        "TORCHINDUCTOR_CACHE_DIR": "{scratch}/inductor",
        **TORCH_INDUCTOR,
        "OMP_NUM_THREADS": str(cpu_threads(settings, device)),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HF_HUB_CACHE": hub_cache(),
        "HF_HUB_OFFLINE": "1",
    }
    base["CUDA_VISIBLE_DEVICES"] = "" if device == "cpu" else visible_devices(device)
    for name in ("LD_LIBRARY_PATH", "CUDA_DEVICE_ORDER"):
        if name in os.environ:
            base[name] = os.environ[name]
    return {name: value.replace("{scratch}", str(scratch)) for name, value in (base | extra).items()}

"""A zygote's process as the parent sees it: the base, which has imported PyTorch, and branches, which import more."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from contextlib import ExitStack, suppress

from kernelgauge.backends.base import search_path
from kernelgauge.config import Settings
from kernelgauge.errors import MachineError
from kernelgauge.hardware.cores import off_launch_cores
from kernelgauge.sandbox.reaper import is_readable
from kernelgauge.sandbox.start import import_path
from kernelgauge.wire.messages import receive, send

KEEP_FREED_MEMORY = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(2**46)}
"""Environment under which freed memory stays with the process, as with the caching allocator on a GPU.

Otherwise every output above 32 MiB costs a page fault per 4 KiB in every call, three times the kernel itself.
"""

TORCH_INDUCTOR = {"TORCHINDUCTOR_COMPILE_THREADS": "1", "TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS": "0"}
"""One compiler at a time, and no precompiled headers: those lie outside the cache, where a worker cannot write."""

_START_SECONDS = 60.0
_PROGRAM = ("kernelgauge.sandbox.start", "kernelgauge.worker.zygote")


class ZygoteProcess:
    """One zygote, which answers requests on its socket once `await_ready` has returned.

    Args:
        requests: our end of its socket.
        pid: its process, as this one sees it.
    """

    def __init__(self, requests: socket.socket, pid: int):
        self.socket, self.pid = requests, pid
        self.started_device: bool | None = None
        """Whether what it imported has started a GPU, so that no process forked from it could; None until it is
        ready."""
        self._importing = ExitStack()  # which takes seconds, and somebody may be timed meanwhile
        with suppress(OSError):  # ended already, which is seen when it is waited for
            self._importing.enter_context(off_launch_cores(pid))

    def await_ready(self) -> None:
        """Wait until it has imported what it should; raises MachineError if it does not come to that."""
        if self.started_device is not None:
            return
        self.socket.settimeout(_START_SECONDS)
        try:
            with self._importing:
                ready, _ = receive(self.socket)
        except (EOFError, OSError) as error:
            self.close()
            raise MachineError(f"the worker zygote did not start: {error}") from error
        self.started_device = bool(ready["started_device"])

    def alive(self) -> bool:
        """Whether it is there to be asked, or will be: once it is ready it says nothing unasked, so that what can be
        read is its end."""
        if self.socket.fileno() < 0:
            return False
        return self.started_device is None or not is_readable(self.socket.fileno(), 0)

    def close(self) -> None:
        """End the process, and with it every process forked from it."""
        self.socket.close()


class BranchZygote(ZygoteProcess):
    """A zygote forked from the base: it has imported PyTorch already, and ends with the base."""

    def __init__(self, requests: socket.socket, pid: int):
        super().__init__(requests, pid)
        self._handle = -1
        with suppress(OSError):  # ended already; or an old kernel, where it ends once it looks at its socket
            self._handle = os.pidfd_open(pid)

    def close(self) -> None:
        """End the process, and with it every process forked from it."""
        super().close()
        if self._handle >= 0:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._handle, signal.SIGKILL)
            os.close(self._handle)
            self._handle = -1


class BaseZygote(ZygoteProcess):
    """The zygote that preloads nothing: a program of its own, with which every branch ends."""

    def __init__(self, settings: Settings):
        requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # The zygote's own environment is what every worker could read in /proc: only what it needs, no keys.
        environment = {
            "PATH": search_path(),
            "LANG": "C.UTF-8",
            "HOME": "/nonexistent",
            "OMP_NUM_THREADS": str(settings.threads),
            "OPENBLAS_NUM_THREADS": "1",
            # Whether there is a GPU, which modules ask when they are imported, is answered without starting it.
            "PYTORCH_NVML_BASED_CUDA_CHECK": "1",
            **TORCH_INDUCTOR,
            **KEEP_FREED_MEMORY,
        }
        for name in ("LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"):
            if name in os.environ:
                environment[name] = os.environ[name]
        environment |= import_path()
        self._process = subprocess.Popen(
            # -P: nothing is imported from the folder that it runs in, nor may workers read there.
            [sys.executable, "-P", "-u", "-m", *_PROGRAM, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            env=environment,
            stdin=subprocess.DEVNULL,
            cwd="/",
        )
        theirs.close()
        super().__init__(requests, self._process.pid)

    def alive(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def branch(self, preload: tuple[str, ...]) -> BranchZygote:
        """A zygote forked from this one, which imports these modules too: only what they bring takes time."""
        self.await_ready()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            send(self.socket, {"branch": list(preload)}, [theirs.fileno()])
            said, _ = receive(self.socket)
        except BaseException as error:
            ours.close()
            self.close()  # or its answer would be taken for that to the next question
            if isinstance(error, EOFError | OSError):
                raise MachineError(f"the worker zygote is gone: {error}") from error
            raise
        finally:
            theirs.close()
        return BranchZygote(ours, said["pid"])

    def close(self) -> None:
        """End the process, and with it every branch and every process forked from it."""
        super().close()
        self._process.kill()
        self._process.wait()

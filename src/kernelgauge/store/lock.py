"""At most one process appends to a run folder."""

from __future__ import annotations

import errno
import fcntl
import os
import socket
from pathlib import Path

from kernelgauge.errors import StoreError
from kernelgauge.store.disk import refused


class FolderLock:
    """An exclusive flock on `folder/lock`, held until `release` or the end of the process, however it ends.

    The file holds process id and host of its last holder, for the message only. It is never removed: removing
    it would let two processes hold locks on two files of the same name.
    """

    def __init__(self, folder: Path) -> None:
        """Raises StoreError naming folder and holder if another process (or object) holds it."""
        path = folder / "lock"
        try:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise refused(error, path) from error
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, f"{os.getpid()} {socket.gethostname()}\n".encode(), 0)
        except OSError as error:
            holder = os.pread(self._descriptor, 200, 0).decode(errors="replace").split()
            os.close(self._descriptor)
            if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                raise refused(error, path) from error
            pid, host = holder if len(holder) == 2 else ("unknown", "this host")
            raise StoreError(
                f"run folder {folder} is in use by process {pid} on {host}; "
                "wait for it to end, or choose another folder"
            ) from None

    def release(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

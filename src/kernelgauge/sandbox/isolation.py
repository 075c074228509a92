"""The isolation layers around a worker, put up inside the forked process before any candidate code is read.

`leave_namespaces` runs in the reaper (the process between zygote and worker), `close_in` in the worker itself. Each
returns the names of the isolation layers that really stand; what a platform refuses is missing from that list and so
from the record, never silently assumed:

    network   own network namespace without any interface up; under a profiler its loopback interface is
    pid       own process namespace: killing the worker kills all it started
    ipc       own System V and POSIX message namespace
    mount     own mount table with a fresh /proc, all but the folders of this worker read-only
    files     Landlock: writing only beneath the folders of this worker, nor cutting off
    reads     Landlock: reading only there, and what `readable` names of the machine
    syscalls  seccomp: no system calls that only attacks are made of
    limits    rlimits on private memory, file size, core dumps; in a namespace of its own it stands only if the
              number of processes is limited too
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import resource
import signal
import socket
import struct
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from kernelgauge.sandbox import seccomp
from kernelgauge.sandbox.host_memory import SHARED_MEMORY
from kernelgauge.sandbox.landlock import ReadablePaths, confine

_libc = ctypes.CDLL(None, use_errno=True)

_CLONE_NEWNS = 0x00020000
_CLONE_NEWIPC = 0x08000000
_CLONE_NEWUSER = 0x10000000
_CLONE_NEWPID = 0x20000000
_CLONE_NEWNET = 0x40000000
_MS_REC_PRIVATE = 0x4000 | 0x40000
_MS_NOSUID_NODEV_NOEXEC = 2 | 4 | 8
_MS_BIND_REC = 0x1000 | 0x4000
_SYS_MOUNT_SETATTR = 442
_AT_RECURSIVE = 0x8000
_READ_ONLY = 1
_SIOCSIFFLAGS = 0x8914
_IFF_UP = 1
_PR_SET_PDEATHSIG = 1
_PR_CAPBSET_DROP = 24
_PR_SET_NO_NEW_PRIVS = 38

LAYERS = ("network", "pid", "ipc", "mount", "limits", "files", "reads", "syscalls")
"""All there are."""


def die_with_parent() -> None:
    """Have the kernel kill this process when the one that forked it ends."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def die_first() -> None:
    """Have the kernel end this process, and what it starts, before all others where memory runs out.

    What it holds in ways that nobody counts is then its own loss.
    """
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


def leave_namespaces() -> list[str]:
    """Leave the host's user, mount, pid, network and IPC namespaces; children are born inside the new ones."""
    uid, gid = os.getuid(), os.getgid()
    wanted = _CLONE_NEWUSER | _CLONE_NEWNS | _CLONE_NEWPID | _CLONE_NEWNET | _CLONE_NEWIPC
    if _libc.unshare(wanted) != 0:
        return []
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
    Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
    return ["network", "pid", "ipc"]


def raise_loopback() -> None:
    """Bring up the loopback interface of a network namespace just made: it reaches nothing but that namespace."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        fcntl.ioctl(handle, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", _IFF_UP))


def _mount_own(folders: Sequence[Path]) -> tuple[bool, bool]:
    """Mounts of this namespace alone: all but these folders read-only, if there are any, and a fresh /proc.

    Whether they are its own, and whether what should be read-only is.
    """
    if _libc.mount(b"none", b"/", None, _MS_REC_PRIVATE, None) != 0:
        return False, False
    read_only = not folders or _mount_read_only(folders)
    return bool(_libc.mount(b"proc", b"/proc", b"proc", _MS_NOSUID_NODEV_NOEXEC, None) == 0), read_only


def _mount_read_only(apart_from: Sequence[Path]) -> bool:
    """Have nothing changed but what lies in these folders; False where the kernel cannot do that (before 5.12).

    That is for chmod(2) and utime(2), in which Landlock has no say.
    """
    folders = [os.fsencode(path) for path in apart_from]
    bound = all(_libc.mount(folder, folder, None, _MS_BIND_REC, None) == 0 for folder in folders)
    read_only = bound and _set_attributes(b"/", wanted=_READ_ONLY)
    if read_only:
        for folder in folders:
            if not _set_attributes(folder, unwanted=_READ_ONLY):
                raise OSError(ctypes.get_errno(), f"{os.fsdecode(folder)} stays read-only")
    os.chdir(Path.cwd())  # into what lies above it now
    return read_only


def _set_attributes(place: bytes, wanted: int = 0, unwanted: int = 0) -> bool:
    attributes = struct.pack("=QQQQ", wanted, unwanted, 0, 0)
    return bool(_libc.syscall(_SYS_MOUNT_SETATTR, -100, place, _AT_RECURSIVE, attributes, len(attributes)) == 0)


def _mount_own_shared_memory() -> bool:
    options = b"size=1g,nr_inodes=16k"  # an inode takes memory too, and is no part of that size
    return bool(_libc.mount(b"tmpfs", b"/dev/shm", b"tmpfs", _MS_NOSUID_NODEV_NOEXEC, options) == 0)


def _limit_processes() -> bool:
    """Let this namespace hold so many processes and threads: compilers need hundreds, a fork bomb all there are.

    Older kernels would count, or limit, those of the whole machine. Whether it is limited now.
    """
    most = 1024 + 16 * (os.cpu_count() or 1)
    major, minor = os.uname().release.split(".")[:2]
    release = int(major), int("".join(takewhile(str.isdigit, minor)))
    if release >= (5, 14):
        resource.setrlimit(resource.RLIMIT_NPROC, (most, most))
    if release >= (6, 14):
        with suppress(OSError):
            Path("/proc/sys/kernel/pid_max").write_text(str(most))
            return True
    return release >= (5, 14) and os.getuid() != 0  # the first limit is none for root


def _drop_privileges() -> None:
    """Give up every capability: inside a user namespace root could otherwise undo the mounts."""
    _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    for capability in range(64):
        _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
    header = struct.pack("=Ii", 0x20080522, 0)
    _libc.capset(header, bytes(24))


@dataclass(frozen=True)
class Files:
    """What a worker may write to and read, and whether it may make every system call."""

    writable: Sequence[Path]
    """Folders and device files, with `SHARED_MEMORY` among them one of its own."""
    view: ReadablePaths | None
    """None leaves reading free."""
    any_call: bool = False

    @property
    def folders(self) -> list[Path]:
        """The writable folders on disk."""
        system = (Path("/proc"), Path("/dev"))
        return [path for path in self.writable if not any(path.is_relative_to(place) for place in system)]


def close_in(own_namespaces: bool, files: Files | None, memory_bytes: int | None, file_bytes: int) -> list[str]:
    """Put up the isolation layers that belong to the worker itself; irrevocable.

    Args:
        own_namespaces: whether `leave_namespaces` worked in the process that forked this one.
        files: None leaves those isolation layers to `close_files`.
        memory_bytes: limit on private memory (brk and private mappings); None leaves it open.
        file_bytes: limit on the size of any one file it writes.
    """
    layers = []
    own_mounts, read_only = _mount_own(files.folders if files else ()) if own_namespaces else (False, False)
    if own_mounts and read_only:
        layers.append("mount")
    limited = _limit_processes() if own_mounts else not own_namespaces
    # Of the host's own, nothing may be written; an empty one in its place dies with the worker.
    own_memory = own_mounts and files and SHARED_MEMORY in files.writable and _mount_own_shared_memory()
    if own_namespaces:
        _drop_privileges()
    else:
        _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes))
    if memory_bytes is not None:
        resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes, memory_bytes))
    if limited:
        layers.append("limits")
    if files is not None:
        writable = [path for path in files.writable if path != SHARED_MEMORY or own_memory]
        layers += close_files(Files(writable, files.view, files.any_call))
    return layers


def close_files(files: Files, profiled: bool = False) -> list[str]:
    """Put up the isolation layers around files and system calls alone, which hold whatever replaces this process too.

    Args:
        profiled: whether a profiler is in the process, which needs a connection and counters.
    """
    layers = confine([*files.writable, Path("/dev/null")], files.view)
    if not files.any_call and seccomp.refuse(profiled):
        layers.append("syscalls")
    return layers

"""System calls that no kernel needs and that attacks are made of: refused by a seccomp filter, with EPERM.

A filter is a small program that the kernel runs before each system call. It decides by the call's number (and for
`clone` by its flags), so calls that are not on the list cost some nanoseconds at most.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct
from collections.abc import Sequence

_libc = ctypes.CDLL(None, use_errno=True)

_SYS_SECCOMP = {"x86_64": 317, "aarch64": 277}
_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}  # linux/audit.h
_SET_MODE_FILTER = 1
# Without it, kernels before 5.16 would slow down every load that follows a store: a mitigation for browsers.
_SPEC_ALLOW = 4

# linux/seccomp.h: offsets in struct seccomp_data, and what a filter returns.
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT, _SECOND_ARGUMENT, _THIRD_ARGUMENT = 0, 4, 16, 24, 32
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
# linux/bpf_common.h: load a word, jump if equal, if not below, if any bit is set; return.
_LOAD, _IF_EQUAL, _IF_AT_LEAST, _IF_ANY, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_X32 = 0x40000000  # the x86_64 kernel's second numbering of the same calls
# New mount, cgroup, UTS, IPC, user, process and network namespaces (CLONE_NEW*), for clone; its low byte is a signal.
_NEW_NAMESPACES = 0x00020000 | 0x02000000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000

# By architecture: x86_64, aarch64.
_REFUSED = {
    # other processes
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "pidfd_getfd": (438, 438),
    "kcmp": (312, 272),
    # other namespaces and mounts
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "open_tree_attr": (467, 467),
    "open_by_handle_at": (304, 265),
    "fanotify_init": (300, 262),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    # large surfaces of the kernel
    "bpf": (321, 280),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "personality": (135, 92),
    # the machine itself
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "acct": (163, 89),
    "syslog": (103, 116),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "adjtimex": (159, 171),
    "clock_adjtime": (305, 266),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
}
_REFUSED_UNLESS_PROFILED = {
    "perf_event_open": (298, 241),
    # Sockets of services (Docker, D-Bus, tmux) are files, which a network namespace does not hide.
    "connect": (42, 203),
    # Memory that nobody sees: open files in flight to a socket, with all that is in them, are no process's, nor are
    # segments, semaphores and messages of System V. A pipe can keep a page of two megabytes for one byte of it.
    "sendmsg": (46, 211),
    "sendmmsg": (307, 269),
    "vmsplice": (278, 75),
    "splice": (275, 76),
    "tee": (276, 77),
    "shmget": (29, 194),
    "semget": (64, 190),
    "msgget": (68, 186),
}
_CLONE, _CLONE3, _SETSOCKOPT = (56, 220), (435, 435), (54, 208)
# Sockets are counted, each by the buffers that it has from the start: nobody enlarges them.
_SOL_SOCKET, _SO_SNDBUF, _SO_RCVBUF = 1, 7, 8


def refuse(profiled: bool = False) -> bool:
    """Put the filter up around this thread and all it starts from now on, for ever; whether it stands.

    Args:
        profiled: whether a profiler needs its connection and its counters.
    """
    machine = platform.machine()
    if machine not in _SYS_SECCOMP:
        return False
    refused = _REFUSED if profiled else _REFUSED | _REFUSED_UNLESS_PROFILED
    column = list(_SYS_SECCOMP).index(machine)
    numbers = [each[column] for each in refused.values()]
    setsockopt = None if profiled else _SETSOCKOPT[column]
    code = _program(_AUDIT_ARCH[machine], numbers, _CLONE[column], _CLONE3[column], setsockopt)
    instructions = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("=H6xQ", len(code) // 8, ctypes.addressof(instructions))
    number = _SYS_SECCOMP[machine]
    return any(_libc.syscall(number, _SET_MODE_FILTER, flags, program) == 0 for flags in (_SPEC_ALLOW, 0))


def _program(architecture: int, refused: Sequence[int], clone: int, clone3: int, setsockopt: int | None) -> bytes:
    """The filter: `sock_filter` instructions of eight bytes each.

    Jumps count the instructions to skip, where the test holds and where it does not; here they go to a name, and
    without one to the next line.
    """
    tests: list[tuple[int, str, str, int]] = [(_IF_EQUAL, "refuse", "", number) for number in sorted(refused)]
    buffers = [
        (_IF_EQUAL, "", "clone", setsockopt or 0),
        (_LOAD, "", "", _SECOND_ARGUMENT),
        (_IF_EQUAL, "", "allow", _SOL_SOCKET),
        (_LOAD, "", "", _THIRD_ARGUMENT),
        (_IF_EQUAL, "refuse", "", _SO_SNDBUF),
        (_IF_EQUAL, "refuse", "allow", _SO_RCVBUF),
    ]
    head = [
        (_LOAD, "", "", _ARCHITECTURE),
        (_IF_EQUAL, "", "unknown", architecture),
        (_LOAD, "", "", _NUMBER),
        (_IF_AT_LEAST, "unknown", "", _X32),
        *tests,
        (_IF_EQUAL, "unknown", "", clone3),  # libraries then take clone, whose flags can be seen
        *(buffers if setsockopt is not None else []),
    ]
    tail = [
        (_IF_EQUAL, "", "allow", clone),
        (_LOAD, "", "", _FIRST_ARGUMENT),
        (_IF_ANY, "refuse", "", _NEW_NAMESPACES),
        (_RETURN, "", "", _ALLOW),
        (_RETURN, "", "", _ERRNO | errno.EPERM),
        (_RETURN, "", "", _ERRNO | errno.ENOSYS),
    ]
    places = {name: len(head) + at for name, at in (("clone", 0), ("allow", 3), ("refuse", 4), ("unknown", 5))}
    lines = []
    for at, (code, holds, fails, value) in enumerate(head + tail):
        jumps = [places[name] - at - 1 if name else 0 for name in (holds, fails)]
        lines.append(struct.pack("=HBBI", code, *jumps, value))
    return b"".join(lines)

"""What the parent tells its processes to do: one class a command, whose fields travel as JSON.

Whoever serves a role answers with a `messages.Claim` of the event that the command names, or `failed`. Each role's
commands are in `candidate_commands`, `oracle_commands` and `describer_commands`; here is what they share.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from kernelgauge.wire.messages import Event, receive, send

_KINDS: dict[str, type[Command]] = {}


@dataclass(frozen=True)
class Command:
    """One order to a process."""

    stage: ClassVar[str]
    """What it is called in a reason: `forward: out of memory`."""
    answer: ClassVar[Event]
    """What a worker says once it has done it."""
    timed: ClassVar[bool]
    """Whether a clock runs until it is answered."""
    call_follows: ClassVar[bool]
    """Whether the next command comes at once, and should find the worker awake."""

    descriptors: Sequence[int] = field(default=(), kw_only=True)
    """Open files that go with it, by their numbers in the process that holds this object."""

    def __init_subclass__(
        cls, *, answer: Event, stage: str = "", timed: bool = False, call_follows: bool = False
    ) -> None:
        cls.stage, cls.answer = stage or cls.__name__.lower(), answer
        cls.timed, cls.call_follows = timed, call_follows
        _KINDS[cls.__name__] = cls


def send_command(channel: socket.socket, command: Command) -> None:
    """Send one command, and the files that go with it."""
    fields = vars(command).copy()
    descriptors = fields.pop("descriptors")
    send(channel, {"do": type(command).__name__, **fields}, list(descriptors))


def receive_command(channel: socket.socket) -> Command:
    """The next command; raises EOFError when the parent is gone."""
    fields, descriptors = receive(channel)
    return _KINDS[fields.pop("do")](**fields, descriptors=descriptors)


@dataclass(frozen=True)
class Warm(Command, answer="staged"):
    """Start the device, and the libraries most models use on it, before there is anything to do on it."""

    device: str


@dataclass(frozen=True)
class Attach(Command, answer="staged"):
    """Open a region under a name; the parent cannot free what is still open there."""

    name: str
    regions: list[dict[str, Any]]
    """As `shared_memory.memory_handles` describes it."""
    expected: list[dict[str, Any]] = field(default_factory=list)
    """Of a candidate's outputs: their `TensorSpec`s."""


@dataclass(frozen=True)
class Detach(Command, answer="staged"):
    """Close a region, so that its memory can be given back."""

    name: str

"""Messages between the trusted parent and its workers: JSON objects over a sequenced-packet socket.

The socket keeps message boundaries and limits their size, so a worker can neither flood nor desynchronise the
parent. What comes up is a claim: it is parsed as plain data (never pickle), checked for type and size by
`parse_claim`, and cross-checked by the supervisor. Big data (inputs, outputs) never travels here, see `regions`.
"""

from __future__ import annotations

import json
import os
import socket
import time
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

LARGEST_MESSAGE = 64 * 1024
LARGEST_TEXT = 16 * 1024
# As many times as fit a message.
MOST_SAMPLES = 2000


Event = Literal["ready", "loaded", "constructed", "staged", "computed", "done", "described", "drawn", "failed"]


class TensorSpec(BaseModel):
    """Shape and dtype of one tensor, and where its bytes lie in its region."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    shape: tuple[Annotated[int, Field(ge=0, le=2**40)], ...] = Field(max_length=16)
    dtype: str = Field(max_length=20)
    offset: int = Field(default=0, ge=0)


class Place(BaseModel):
    """Where one output lies in the worker's own memory: address in bytes, strides in elements."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    address: int = Field(ge=0, lt=2**63)
    strides: tuple[Annotated[int, Field(ge=0, le=2**40)], ...] = Field(max_length=16)


class Claim(BaseModel):
    """Something a worker says. Nothing in it is believed without a check from outside."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    event: Event
    layers: tuple[str, ...] = Field(default=(), max_length=16)
    tensors: tuple[TensorSpec, ...] = Field(default=(), max_length=256)
    places: tuple[Place, ...] = Field(default=(), max_length=256)
    aliases_input: bool = False
    reuses_output: bool = False
    mutates_input: bool = False
    forward_ns: int = Field(default=0, ge=0)
    copied: bool = True
    kind: str = Field(default="", max_length=200)
    stage: str = Field(default="", max_length=40)
    message: str = Field(default="", max_length=LARGEST_TEXT)
    data: dict[str, Any] = Field(default_factory=dict)


_CLAIM: TypeAdapter[Claim] = TypeAdapter(Claim)


def parse_claim(raw: bytes) -> Claim:
    """A claim from raw bytes.

    Raises:
        ValueError: not one JSON object of the declared fields, types and sizes.
    """
    return _CLAIM.validate_json(raw)


def send(channel: socket.socket, message: dict[str, Any], descriptors: list[int] | None = None) -> None:
    """Send one message, with open file descriptors alongside if given."""
    raw = json.dumps(message).encode()
    if descriptors:
        socket.send_fds(channel, [raw], descriptors)
    else:
        channel.send(raw)


def await_awake(channel: socket.socket, seconds: float) -> None:
    """Wait for a message without sleeping, so that the process keeps its core until it comes.

    It makes way for whoever wants that core: the kernel often wakes the parent on the very core of the one that has
    sent it a message, and it would wait there until the next tick, for some 4 ms.

    Args:
        seconds: of processor time at most: while the parent has stopped the process, none of it passes.
    """
    deadline = time.thread_time() + seconds
    while time.thread_time() < deadline:
        try:
            channel.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            os.sched_yield()
            continue
        return


def receive(channel: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """The next message and its descriptors; raises EOFError when the other side is gone."""
    raw, descriptors, _, _ = socket.recv_fds(channel, LARGEST_MESSAGE, 8)
    if not raw:
        raise EOFError("channel closed")
    return json.loads(raw), descriptors

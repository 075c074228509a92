"""The loop of every process that takes commands, whatever its role."""

from __future__ import annotations

import socket
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch

from kernelgauge.wire.candidate_commands import CANDIDATE_FILE
from kernelgauge.wire.commands import Command, receive_command
from kernelgauge.wire.error_text import COMPILER_ERROR
from kernelgauge.wire.messages import LARGEST_TEXT, await_awake, send

Answer = dict[str, Any]
"""The fields of a `messages.Claim`."""

# The call follows the staging of its inputs at once.
_AWAKE_SECONDS = 0.005
_OUT_OF_MEMORY = (
    "can't allocate memory",
    "not enough memory",
    "out of memory",
    "bad_alloc",
    "Cannot allocate",
    "ALLOC_FAILED",  # cuBLAS and cuDNN
)


def serve(
    channel: socket.socket,
    answer: Callable[[Command], Answer],
    boundary: type[Exception] | type[BaseException] = Exception,
) -> None:
    """Answer commands until the parent hangs up, which raises EOFError.

    Args:
        answer: does what a command says; what it raises becomes a `failed` claim.
        boundary: what it may raise: of a stranger's code SystemExit as well.
    """
    while True:
        command = receive_command(channel)
        try:
            said = answer(command)
        except boundary as error:
            said = failure(command.stage, error)
        if not command.timed:
            _flush()
        send(channel, said)
        if command.call_follows:
            await_awake(channel, _AWAKE_SECONDS)


def _flush() -> None:
    """Have what was printed in the log; what ran here may have closed the streams, or replaced them."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):
            stream.flush()


def failure(stage: str, error: BaseException) -> Answer:
    """The claim that describes an exception."""
    full = _told(error).encode(errors="replace").decode()
    # Of a long template error the tail is notes: the lines that name the error come first.
    named = [line for line in full.splitlines() if COMPILER_ERROR.search(line)]
    text = "\n".join(line[:400] for line in named[:5]) + "\n" * bool(named) + full[-LARGEST_TEXT // 4 :]
    summary = f"{type(error).__name__}: {error}"
    memory = isinstance(error, MemoryError) or any(mark in summary for mark in _OUT_OF_MEMORY)
    kind = "OutOfMemory" if memory else type(error).__name__
    return {"event": "failed", "stage": stage, "kind": kind[:200], "message": text}


def _told(error: BaseException) -> str:
    """The traceback from where it enters the file that was loaded, the whole of it if it does not."""
    told = traceback.TracebackException.from_exception(error)
    each: traceback.TracebackException | None = told
    while each is not None:
        entered = (place for place, frame in enumerate(each.stack) if _was_loaded(frame.filename))
        del each.stack[: next(entered, 0)]
        each = each.__cause__ or each.__context__
    return "".join(told.format())


def _was_loaded(filename: str) -> bool:
    path = Path(filename)
    # A module beside this one has the same name.
    return path.name == CANDIDATE_FILE and path.parent != Path(__file__).parent


def warm_up(device: str) -> None:
    """Start a device and the libraries most models use on it: each takes some tenths of a second."""
    small = torch.ones(8, 8, device=device)
    torch.mm(small, small)
    torch.conv2d(small[None, None], small[None, None])
    torch.cuda.synchronize()

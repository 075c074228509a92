"""What texts of compilers, tracebacks and PyTorch say, in one line. Both sides read them."""

from __future__ import annotations

import re

# `main.cpp:12:5: error: ...` of g++ and hipcc, `cuda.cu(38): error: ...` of nvcc; what assembler and linker say.
COMPILER_ERROR = re.compile(
    r"\.(?:c|cc|cpp|cxx|cu|cuh|hip|h|hpp)[:(]\d+.*\berror\b|^ptxas .*\berror\b|\bundefined reference to\b"
)
_EXCEPTION = re.compile(r"(?:\w+\.)*[A-Z]\w*(?:Error|Exception|Exit|Failed|Unsupported)(?:: |$)")
# The folder is another one each time: with it, equal errors would never read alike.
_FOLDER = re.compile(r"\S*/(?=[^/\s]+\.\w+[:(]\d)")
# What PyTorch goes on to say is about the whole card, whatever the cap on it, and about everybody else's processes.
_NO_MEMORY = re.compile(r"(CUDA out of memory\. Tried to allocate [\d.]+ \w+\.).*")


def last_line(text: str) -> str:
    """The line of a traceback that says what happened."""
    lines = [line for line in text.strip().splitlines() if line.strip()]
    own = text.rpartition("Traceback (most recent call last)")[2].splitlines()
    named = [line for line in own if _EXCEPTION.match(line)]  # some exceptions end with advice
    return (named or lines)[-1].strip()[:500] if lines else "no message"


def out_of_memory(text: str) -> str:
    """A line that says that memory ran out, as far as it speaks of what was asked for."""
    return _NO_MEMORY.sub(r"\1", text)


def compiler_error(text: str) -> str | None:
    """The first error of a compiler in a text, without its folder; None if there is none."""
    found = next((line.strip() for line in text.splitlines() if COMPILER_ERROR.search(line)), None)
    return _FOLDER.sub("", found)[:500] if found else None

"""What a build is told of the call that it rehearses: published shapes and types, and the card's data sheet."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from kernelgauge.backends.cache import build_key
from kernelgauge.backends.registry import backend_named
from kernelgauge.config import MathMode
from kernelgauge.errors import ProblemError, UsageError
from kernelgauge.evaluation.resources.description import called
from kernelgauge.hardware.gpus import gpu_named
from kernelgauge.sandbox.zygote_client import Zygote
from kernelgauge.schema import Candidate, Problem, digest


@dataclass(frozen=True)
class Call:
    """The first call of a judgement, as far as a build may know it: what the candidate is, and what is published of
    the problem at its sizes. No draw is part of it."""

    problem: Problem
    math: MathMode
    attribute: str
    gpu: str | None
    """The card as its driver calls it."""

    @property
    def digest(self) -> str:
        """The name of what is rehearsed."""
        return digest(json.dumps([self.problem.source, self.math, self.attribute, self.gpu]))

    def card(self) -> dict[str, Any]:
        """What a rehearsal may tell of the GPU, by PyTorch's names; nothing that is not known from its name."""
        try:
            card = gpu_named(self.gpu or "")
        except UsageError:
            return {}
        major, minor = re.findall(r"\d+", card.architecture)[-2:]
        known = {
            "name": self.gpu,
            "major": int(major),
            "minor": int(minor),
            "multi_processor_count": card.multiprocessors,
            "warp_size": card.warp,
            "max_threads_per_multi_processor": card.threads,
            "shared_memory_per_multiprocessor": card.shared_kib and card.shared_kib << 10,
            "shared_memory_per_block_optin": card.block_shared_kib and card.block_shared_kib << 10,
        }
        return {name: value for name, value in known.items() if value is not None}


class Calls:
    """The arguments of the calls that were asked for, each described once by a process of its own."""

    def __init__(self, zygote: Zygote):
        self._zygote = zygote
        self._known: dict[tuple[str, MathMode], dict[str, Any] | None] = {}

    def arguments(self, call: Call) -> dict[str, Any] | None:
        """See `description.called`; None where the problem's own code does not say that without values."""
        key = call.problem.source, call.math
        if key not in self._known:
            found = None
            with suppress(ProblemError):  # whoever judges says so
                found = called(self._zygote, call.problem, call.math)
            self._known[key] = found
        return self._known[key]


def key_of(candidate: Candidate, device: str, call: Call | None) -> str:
    """Content name of a candidate's build for a kind of device; see `cache.build_key`."""
    backend = backend_named(candidate.backend)
    if backend.compiles_for_math:
        return build_key(candidate, backend, math_of(call))
    rehearsed = call is not None and backend.rehearses(candidate.source, device)
    return build_key(candidate, backend, call.digest if call and rehearsed else "")


def math_of(call: Call | None) -> MathMode:
    """The arithmetic that a build is made for: that of `strict`, unless its call has another."""
    return "ieee" if call is None else call.math

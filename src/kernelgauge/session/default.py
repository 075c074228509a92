"""The one-call API: a session made on first use, and what is asked of it."""

from __future__ import annotations

import atexit
from functools import cache
from pathlib import Path

from kernelgauge.config import MathMode, Protocol
from kernelgauge.schema import Evaluation, KernelPolicyName, Problem, Profile, Sizes
from kernelgauge.session.session import Session


@cache
def default_session() -> Session:
    """The session behind `kg.evaluate` and `kg.profile`, made on first use and closed when the interpreter ends."""
    session = Session()
    atexit.register(session.close)
    return session


def evaluate(
    problem: Problem | str | Path,
    source: str,
    *,
    backend: str | None = None,
    sizes: Sizes | None = None,
    protocol: str | Protocol = "strict",
    device: str | None = None,
    math: MathMode | None = None,
    timer: str | None = None,
    timed: bool = True,
    kernel_policy: KernelPolicyName | None = None,
) -> Evaluation:
    """Judge one candidate in the default session, on the GPU where there is one; see `Session.evaluate`."""
    asked = {"backend": backend, "sizes": sizes, "protocol": protocol, "device": device, "math": math}
    return default_session().evaluate(problem, source, **asked, timer=timer, timed=timed, kernel_policy=kernel_policy)  # type: ignore[arg-type]


def profile(
    problem: Problem | str | Path,
    source: str | None = None,
    *,
    backend: str | None = None,
    sizes: Sizes | None = None,
    device: str | None = None,
    math: MathMode = "ieee",
    counters: bool = True,
    sealed: bool = True,
) -> Profile:
    """Where the time of a forward goes, measured in the default session; see `Session.profile`."""
    return default_session().profile(
        problem,
        source,
        backend=backend,
        sizes=sizes,
        device=device,
        math=math,
        counters=counters,
        sealed=sealed,
    )

"""`kernelgauge eval`: is this candidate right, and how much faster is it?"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from kernelgauge.cli.options import (
    AsJson,
    BackendName,
    DeviceName,
    GpuMemoryGb,
    KernelPolicyFlag,
    MathName,
    PrecisionName,
    ProtocolName,
    SizesName,
    TimerName,
    chosen_gpu_memory,
    chosen_protocol,
    chosen_sizes,
    running_device,
)
from kernelgauge.cli.printed import print_object
from kernelgauge.errors import CandidateError


def evaluate(
    problem: Annotated[str, typer.Argument(help="A problem such as 1/23, or a reference file of your own.")],
    file: Annotated[Path, typer.Argument(help="The candidate: a file that defines ModelNew; - reads stdin.")],
    backend: BackendName = None,
    sizes: SizesName = None,
    device: DeviceName = None,
    protocol: ProtocolName = "strict",
    math: MathName = None,
    precision: PrecisionName = None,
    timer: TimerName = None,
    kernel_policy: KernelPolicyFlag = None,
    gpu_memory: GpuMemoryGb = None,
    timed: Annotated[bool, typer.Option("--timing/--no-timing", help="Time a candidate that is right.")] = True,
    as_json: AsJson = False,
) -> None:
    """Judge one candidate. Exit code: 0 passed, 1 not passed, 2 wrong use, 3 the machine failed."""
    from kernelgauge.generation.folder import read_source
    from kernelgauge.problems.loader import load_problem

    where = running_device(device)
    found = load_problem(problem, sizes=chosen_sizes(sizes, where, problem))
    chosen = chosen_protocol(protocol, math, precision, timer, where, kernel_policy)
    source = standard_input() if str(file) == "-" else read_source(file)
    # These bring torch: a wrong name or file is refused seconds before that.
    from kernelgauge.cli.progress import working
    from kernelgauge.config import Limits
    from kernelgauge.session.session import Session

    limits = Limits(gpu_memory_gb=chosen_gpu_memory(gpu_memory, where))
    with Session(limits=limits) as session, working(f"judging {file.name} against {found.key} {found.name}"):
        record = session.evaluate(found, source, backend=backend, protocol=chosen, device=where, timed=timed)
    if as_json:
        print_object(record.summary())
    else:
        from kernelgauge.cli.verdict import show

        show(record)
    raise typer.Exit(0 if record.passed else 1)


def standard_input() -> str:
    """The candidate from a pipe, as UTF-8 whatever the locale; raises CandidateError."""
    if sys.stdin is None:
        raise CandidateError("standard input is closed: there is no candidate to read from it")
    try:
        sys.stdin.reconfigure(encoding="utf-8", errors="strict")  # type: ignore[union-attr]
        return sys.stdin.read()
    except UnicodeDecodeError as error:
        raise CandidateError("the candidate on standard input is not UTF-8 text") from error

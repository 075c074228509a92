"""`kernelgauge build` and `guide`: does it compile, and how is a candidate written?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kernelgauge.cli.options import BackendName
from kernelgauge.errors import BackendMissing


def build(
    file: Annotated[Path, typer.Argument(help="The candidate file.")],
    backend: BackendName = None,
) -> None:
    """Compile a candidate into the build cache without running it; needs the compiler, not the device."""
    from kernelgauge.backends.parts import parts
    from kernelgauge.backends.registry import backend_named, detect
    from kernelgauge.generation.folder import read_source
    from kernelgauge.schema import Candidate
    from kernelgauge.syntax import unreadable

    source = read_source(file)
    if why := unreadable(source):
        typer.echo(f"load_failed: {file} {why}")
        raise typer.Exit(1)
    candidate = Candidate(problem="-", source=source, backend=backend or detect(source), origin=str(file))
    device = backend_named(candidate.backend).devices[0]
    if reason := backend_named(candidate.backend).cannot_build():
        raise BackendMissing(reason)
    # These bring torch: a wrong name or file is refused seconds before that.
    from kernelgauge.cli.progress import working
    from kernelgauge.evaluation.failures import Failure
    from kernelgauge.session.session import Session

    try:
        with Session() as session, working(f"building {file.name}"):
            built = session.supervisor.build(candidate, device)
    except Failure as failure:
        typer.echo(f"{failure.outcome.value}: {failure.reason}")
        raise typer.Exit(1) from None
    if built.folder is None:
        typer.echo(f"backend {candidate.backend} has nothing to build ahead of a call")
    else:
        for part in parts(built.folder):
            typer.echo(f"{part.seconds:7.2f} s  {part.route}  {part.name}")
        typer.echo(f"{'built' if built.made else 'already built'}: {built.folder}")


def guide(
    backend: Annotated[str, typer.Argument(help="A kernel language, such as cuda or triton: `doctor` lists them.")],
    example: Annotated[bool, typer.Option("--example", help="Print the worked candidate instead.")] = False,
) -> None:
    """How to write a candidate in a kernel language, or a worked example of one."""
    from kernelgauge.backends.registry import backend_named

    found = backend_named(backend)
    typer.echo(found.example()[1] if example else found.guide(), nl=False)

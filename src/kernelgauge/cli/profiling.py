"""`kernelgauge profile`: where does the time of a candidate, or of the reference, go?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kernelgauge.cli.evaluate import standard_input
from kernelgauge.cli.options import (
    AsJson,
    BackendName,
    DeviceName,
    MathOption,
    SizesName,
    chosen_sizes,
    running_device,
)
from kernelgauge.cli.printed import print_object

_LOG_LINES = 12


def profile(
    problem: Annotated[str, typer.Argument(help="A problem such as 1/23, or a reference file of your own.")],
    file: Annotated[
        Path | None, typer.Argument(help="The candidate; - reads stdin. Without: the reference itself.")
    ] = None,
    backend: BackendName = None,
    sizes: SizesName = None,
    device: DeviceName = None,
    math: Annotated[
        MathOption, typer.Option("--math", help="Arithmetic it computes in; as under protocol strict by default.")
    ] = MathOption.ieee,
    ncu: Annotated[bool, typer.Option(help="On a GPU, read its hardware counters too, by ncu or rocprofv3.")] = True,
    unsealed: Annotated[
        bool, typer.Option("--unsealed", help="Run the candidate outside its seal under ncu: only a file you trust.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show where the time of a forward goes. Exit code: 0 done, 1 a failed candidate, 2 wrong use, 3 the machine."""
    from kernelgauge.generation.folder import read_source
    from kernelgauge.problems.loader import load_problem

    where = running_device(device)
    found = load_problem(problem, sizes=chosen_sizes(sizes, where, problem))
    source = None if file is None else standard_input() if str(file) == "-" else read_source(file)
    # These bring torch: a wrong name or file is refused seconds before that.
    from kernelgauge.cli.progress import working
    from kernelgauge.session.session import Session

    with Session() as session, working(f"profiling {file.name if file else 'the reference'} for {found.key}"):
        record = session.profile(
            found,
            source,
            backend=backend,
            device=where,
            math=math.value,
            counters=ncu,
            sealed=not unsealed,
        )
    if as_json:
        print_object(record.summary())
    else:
        from kernelgauge.profiling.profile_text import render

        typer.echo(render(record))
        if record.outcome and record.log.strip():
            typer.echo("\n".join(record.log.strip().splitlines()[-_LOG_LINES:]))
    raise typer.Exit(1 if record.outcome else 0)

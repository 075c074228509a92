"""`kernelgauge package`: the winners of runs as a package for real models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kernelgauge.cli.options import AsJson, ProtocolName, parse_names
from kernelgauge.cli.printed import print_object
from kernelgauge.packaging.names import DEFAULT


def package(
    runs: Annotated[list[Path], typer.Argument(help="Run folders or logs of Inspect.")],
    out: Annotated[Path, typer.Option("--out", help="Folder of the package.")],
    name: Annotated[str, typer.Option("--name", help="Of its module and of its operators' namespace.")] = DEFAULT,
    shapes: Annotated[
        Path | None,
        typer.Option("--shapes", help="JSON or TOML: size constants by problem, to judge winners at as well."),
    ] = None,
    protocol: ProtocolName = "strict",
    licence: Annotated[
        str, typer.Option("--license", help="Of the kernels, as their owner states it.")
    ] = "not stated",
    homes: Annotated[
        str | None,
        typer.Option("--homes", help="Other forms beside it: huggingface, flashinfer, backendbench."),
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Overwrite a package of that name.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write an installable package of the winners: guarded operators that fall back to PyTorch.

    In goes what passed, is surely faster than its reference, has no flag and answers a problem that counts, of one
    class of machine. What stays out is said with its reason.
    """
    from kernelgauge.cli.progress import working
    from kernelgauge.packaging.package import package as made

    def tell(what: str) -> None:
        typer.echo(f"kernelgauge: {what}", err=True)

    with working("packaging"):
        done = made(
            runs,
            out,
            name=name,
            shapes=shapes,
            protocol=protocol,
            licence=licence,
            homes=parse_names(homes) or (),
            replace=replace,
            tell=tell,
        )
    if as_json:
        print_object({"folder": str(done.folder), "package": done.contents.model_dump(mode="json", by_alias=True)})
        return
    for operator in done.contents.operators:
        for variant in operator.variants:
            came = variant.provenance
            low, high = came.interval
            typer.echo(
                f"{operator.name}: {came.problem}, {came.speedup:.3g}x (95 % between {low:.3g} and {high:.3g})"
            )
    for each in done.contents.left_out:
        typer.echo(
            f"left out: {each.problem}, {each.contestant} sample {each.sample} {' '.join(each.reason.split())}"
        )
    typer.echo(f"{done.folder}: pip install {out}")

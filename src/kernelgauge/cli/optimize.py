"""`kernelgauge optimize`: a model with kernels that were judged on its own shapes, before and after."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kernelgauge.cli.options import AsJson, DeviceName, MathName, ProtocolName, value_of
from kernelgauge.cli.printed import print_object
from kernelgauge.packaging.names import DEFAULT


def optimize(
    model: Annotated[Path, typer.Argument(help="A file with Model, get_inputs and get_init_inputs.")],
    out: Annotated[Path, typer.Option("--out", help="Folder for problems, run and package; one is gone on with.")],
    contestant: Annotated[
        str, typer.Option("--contestant", help="Who answers: inductor, folder:DIR, or module:Class.")
    ] = "inductor",
    name: Annotated[str, typer.Option("--name", help="Of the package's module.")] = DEFAULT,
    device: DeviceName = None,
    protocol: ProtocolName = "strict",
    math: MathName = None,
    most: Annotated[int, typer.Option("--most-calls", min=2, help="Calls of ATen in a problem.")] = 60,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Problems, the most of the time first.")] = 8,
    single_calls: Annotated[
        bool, typer.Option("--single-calls", help="Also modules that are one call of PyTorch, such as linear layers.")
    ] = False,
    pairs: Annotated[
        int, typer.Option("--pairs", min=6, help="Runs of the model, with the package and without.")
    ] = 15,
    licence: Annotated[
        str, typer.Option("--license", help="Of the kernels, as their owner states it.")
    ] = "not stated",
    replace: Annotated[bool, typer.Option("--replace", help="Overwrite a package of that name.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make a model faster: cut it into problems, judge a contestant on them, package the winners, measure the model.

    The problems have the model's own shapes, and inputs spread out as those that it saw.
    """
    from kernelgauge.cli.progress import RunProgress
    from kernelgauge.judging import arithmetic_of
    from kernelgauge.packaging.optimize import optimize as made

    def tell(what: str) -> None:
        typer.echo(f"kernelgauge: {what}", err=True)

    with RunProgress() as watch:
        done = made(
            model,
            out,
            contestant=contestant,
            name=name,
            device=value_of(device),
            protocol=protocol,
            math=arithmetic_of(value_of(math), None),
            most=most,
            limit=limit,
            single_calls=single_calls,
            pairs=pairs,
            licence=licence,
            replace=replace,
            watch=watch,
            tell=tell,
        )
    if as_json:
        print_object(done)
        return
    for cut in done.cuts:
        where = f"{cut.name}: {cut.share:.1%} of the time, {len(cut.modules)} modules"
        typer.echo(f"{where}, {cut.speedup:.3g}x" if cut.speedup else f"{where}, no kernel: it {cut.reason}")
    if done.interval is None:
        typer.echo("no kernel won: the model stays as it is")
        return
    for operator, reason in done.not_used.items():
        typer.echo(f"not used in the model: {operator}: {reason}")
    for operator, calls in done.counters.items():
        misses = "".join(f", {number} by PyTorch ({why})" for why, number in calls["misses"].items())
        typer.echo(f"{operator}: {calls['hits']} call{'s' * (calls['hits'] != 1)} answered{misses}")
    for warning in done.warnings:
        typer.echo(f"warning: {warning}")
    for what, arithmetic in done.arithmetic.items():
        if arithmetic != done.math:
            typer.echo(f"the model's {what} were in {arithmetic}; kernels were judged in {done.math}: see --math")
    low, high = done.interval
    typer.echo(f"before {done.before_ms:.4g} ms, after {done.after_ms:.4g} ms, difference {done.error:.2g}")
    between = f"{done.speedup:.3g}x (95 % between {low:.3g} and {high:.3g})"
    if done.package is None:
        typer.echo(f"{between}: no kernel helps the whole model, which stays as it is")
    else:
        sure = "" if done.standing == "faster" else ", which is no sure gain"
        typer.echo(f"{between}{sure}; {done.package}: pip install {out}")

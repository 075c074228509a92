"""`kernelgauge problems dataset`: problems as a file that trainers read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kernelgauge.cli.options import (
    BackendName,
    DeviceName,
    KernelPolicyFlag,
    MathName,
    ProtocolName,
    SizesName,
    SplitOption,
    SuiteName,
    chosen_device,
    chosen_protocol,
    parse_levels,
    parse_names,
    sizes_of_run,
)
from kernelgauge.cli.prompt import Shots, ShotsOption


def dataset(
    out: Annotated[Path, typer.Option("--out", help="The file, a JSON object a line; what was there goes.")],
    suite: SuiteName = None,
    level: Annotated[str | None, typer.Option("--level", help="Levels, such as 1,2; default: all but 4.")] = None,
    problems: Annotated[str | None, typer.Option("--problems", help="Problems, such as 1/19,2/14.")] = None,
    split: Annotated[
        SplitOption | None, typer.Option("--split", help="Only one part of a suite that was generated to train on.")
    ] = None,
    headroom: Annotated[
        Path | None,
        typer.Option("--headroom", help="A run of `baseline`: the problems with the most headroom come first."),
    ] = None,
    stages: Annotated[int, typer.Option("--stages", min=1, help="Of the curriculum, equally large.")] = 1,
    backend: BackendName = None,
    option: Shots = ShotsOption.one_shot,
    sizes: SizesName = None,
    device: DeviceName = None,
    protocol: ProtocolName = "quick",
    math: MathName = None,
    kernel_policy: KernelPolicyFlag = None,
) -> None:
    """Write problems with their prompts as rows for a trainer, in the order of a curriculum if one is asked for.

    Sizes, protocol and kernel policy are those that will judge: the prompts tell them.
    """
    from kernelgauge.backends.registry import backend_named
    from kernelgauge.errors import UsageError
    from kernelgauge.generation.prompts.prompt import Asked, Prompts, backend_for
    from kernelgauge.problems.catalogue import DEFAULT_LEVELS, entry, select
    from kernelgauge.session.selection import chosen_suite
    from kernelgauge.store.disk import write_whole
    from kernelgauge.training.curriculum import measured_headroom
    from kernelgauge.training.curriculum import stages as in_stages
    from kernelgauge.training.dataset import rows

    names = parse_names(problems)
    where, meant = chosen_device(device), chosen_suite(suite, names)
    default = level is None and names is None and meant is None
    levels = list(DEFAULT_LEVELS) if default else parse_levels(level)
    keys = [key for key in select(levels, names, meant) if split is None or entry(key).split == split.value]
    if split and not keys:
        raise UsageError(
            f"no problem of those asked for is in the split {split.value!r}: `kernelgauge problems generate` splits "
            "what it draws to train on"
        )
    known = measured_headroom(headroom, keys) if headroom else {}
    lacking = [key for key in keys if headroom and key not in known]
    if lacking:
        typer.echo(
            f"kernelgauge: {len(lacking)} of {len(keys)} problems, such as {lacking[0]}, have no headroom in "
            f"{headroom}: they come last, without a stage",
            err=True,
        )
    language = backend_named(backend or backend_for(where))
    if device is None and where not in language.devices:  # nothing runs here: it need not be this machine's
        where = language.devices[0]
    judged = chosen_protocol(protocol, math, None, None, where, kernel_policy)
    prompts = Prompts(Asked(backend=language.name, option=option.value, protocol=judged, device=where))
    made = rows(
        keys, prompts, judged, language.name, sizes_of_run(sizes, where, keys), known, in_stages(known, stages)
    )
    lines = [f"{row.model_dump_json()}\n" for row in made]
    write_whole(out, "".join(lines).encode())
    typer.echo(f"{out}: {len(lines)} problems")

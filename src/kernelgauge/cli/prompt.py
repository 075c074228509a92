"""`kernelgauge prompt`: what would a language model be told?"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from kernelgauge.cli.options import (
    ASKING,
    BackendName,
    CheckedCalls,
    DeviceName,
    KernelPolicyFlag,
    MathName,
    PrecisionName,
    ProtocolName,
    SizesName,
    TimedCalls,
    chosen_device,
    chosen_protocol,
    chosen_sizes,
)


class ShotsOption(StrEnum):
    """How many worked pairs of reference and candidate a prompt shows."""

    zero_shot = "zero_shot"
    one_shot = "one_shot"
    few_shot = "few_shot"


_REACT = "react"
"""An agent, and no strategy: `inspect.agent.REACT`, where Inspect is installed."""

Shots = Annotated[
    ShotsOption, typer.Option("--shots", help="Worked examples: none, one, several.", rich_help_panel=ASKING)
]
Hardware = Annotated[
    bool,
    typer.Option(
        "--hardware", help="Describe the GPU (on a CPU the processor), and what helps there.", rich_help_panel=ASKING
    ),
]
GpuName = Annotated[
    str | None,
    typer.Option(
        "--gpu", help="Describe this one instead, such as H100; implies --hardware.", rich_help_panel=ASKING
    ),
]
Templates = Annotated[
    Path | None,
    typer.Option(
        "--templates", help="Folder whose files take the place of the prompt's templates.", rich_help_panel=ASKING
    ),
]


def prompt(
    problem: Annotated[str, typer.Argument(help="A problem such as 1/23, or a reference file of your own.")],
    backend: BackendName = None,
    option: Shots = ShotsOption.one_shot,
    hardware: Hardware = False,
    gpu: GpuName = None,
    sizes: SizesName = None,
    device: DeviceName = None,
    protocol: ProtocolName = "strict",
    math: MathName = None,
    precision: PrecisionName = None,
    num_correct_trials: CheckedCalls = None,
    num_perf_trials: TimedCalls = None,
    kernel_policy: KernelPolicyFlag = None,
    templates: Templates = None,
    strategy: Annotated[
        str, typer.Option("--strategy", help="Whose first question is printed: sample, refine, evolve, tree, react.")
    ] = "sample",
) -> None:
    """Print exactly what `ask` would send for this problem, without sending it."""
    from kernelgauge.backends.registry import backend_named
    from kernelgauge.generation.prompts.prompt import Asked, Prompts, backend_for
    from kernelgauge.problems.loader import load_problem

    where = "cuda" if gpu is not None and device is None else chosen_device(device)
    language = backend_named(backend or backend_for(where))
    if device is None and where not in language.devices:  # nothing runs here: it need not be this machine's
        where = language.devices[0]
    asked = Asked(
        backend=language.name,
        option=option.value,
        protocol=chosen_protocol(protocol, math, precision, None, where, kernel_policy).counting(
            num_correct_trials, num_perf_trials
        ),
        device=where,
        include_hardware=hardware or gpu is not None,
        gpu_name=gpu,
        templates=templates,
    )
    found = load_problem(problem, sizes=chosen_sizes(sizes, where, problem))
    typer.echo(_first_question(Prompts(asked).problem(found), strategy, templates), nl=False)


def _first_question(told: str, strategy: str, templates: Path | None) -> str:
    """What a strategy asks first about a problem; of an agent the system's message before that."""
    from kernelgauge.generation.prompts.conversation import conversation
    from kernelgauge.generation.prompts.prompt import Templates as Filled
    from kernelgauge.search.registry import strategy_named

    filled = Filled(templates)
    if strategy == _REACT:
        typer.echo("kernelgauge: the agent is also offered its tools, in the form of each provider", err=True)
        return f"[system]\n{filled.filled('agent.md.j2')}\n[user]\n{told}"
    first = strategy_named(strategy).plan([])[0]
    return conversation(told, [], first, filled)[-1].text

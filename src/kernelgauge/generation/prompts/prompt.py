"""Prompts: templates filled with a problem, a kernel language, a machine and the rules of a protocol.

The templates lie in `templates/`. A file of the same name in a folder of the user's own takes the place of ours.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal, get_args

from jinja2 import ChoiceLoader, Environment, FileSystemLoader, PackageLoader, StrictUndefined, TemplateError

from kernelgauge.backends.registry import backend_named
from kernelgauge.config import Protocol
from kernelgauge.errors import UsageError
from kernelgauge.generation.prompts.machine import machine
from kernelgauge.hardware.gpus import Gpu
from kernelgauge.schema import Problem, Record, digest

Shots = Literal["zero_shot", "one_shot", "few_shot"]
"""How many worked pairs of reference and candidate a prompt shows: none, one, several."""

_DRAWS = {
    "signed": "random signs",
    "normal": "normally distributed values",
    "scaled": "values up to four times larger or ten times smaller",
    "offgrid": "values that TF32 and bfloat16 round",
    "planted": "a few values out of place",
}
_NOTHING = Problem(key="-", name="-", source="-")
# What these sections of a guide say depends on the protocol, and is said by `rules.md.j2`.
_OF_THE_PROTOCOL = "What the evaluator does"


def backend_for(device: str) -> str:
    """The kernel language that is asked for where none is named."""
    return "cpp" if device == "cpu" else "cuda"


class Asked(Record):
    """What a prompt depends on besides the problem."""

    backend: str
    option: str = "one_shot"
    """How many worked examples: one of `Shots`."""
    protocol: Protocol
    device: str = "cuda"
    include_hardware: bool = False
    gpu_name: str | None = None
    """Which GPU the hardware section, if there is one, describes; None: the machine at hand."""
    templates: Path | None = None
    """A folder whose files take the place of templates of the same name."""


class Prompts:
    """What contestants are told about problems.

    Raises:
        UsageError: unknown backend, option or GPU; a GPU though candidates run on a CPU; no such folder of templates.
    """

    def __init__(self, asked: Asked):
        if asked.option not in get_args(Shots):
            raise UsageError(f"there is no option {asked.option!r}: choose one of {', '.join(get_args(Shots))}")
        self._templates = Templates(asked.templates)
        self._facts = _facts(asked)

    def problem(self, problem: Problem) -> str:
        """The first message: everything a contestant is told about this problem."""
        return self._templates.filled("prompt.md.j2", problem=problem, **self._facts)

    @property
    def digest(self) -> str:
        """Of what a contestant is told, the problem itself left out: `Generation.prompt_digest`."""
        return digest(self.problem(_NOTHING))


class Templates:
    """The templates of the package, each replaced by the one of its name in a folder of the user's own.

    Raises:
        UsageError: the folder is not there, or a template in it cannot be filled in.
    """

    def __init__(self, folder: Path | None = None):
        if folder is not None and not folder.is_dir():
            raise UsageError(f"the folder of templates {folder} does not exist")
        self._environment = _environment(folder)

    def refused(self, reason: str, cut_off: bool = False) -> str:
        """The message after an answer that was refused before any evaluation."""
        return self.filled("refused.md.j2", reason=reason, cut_off=cut_off)

    def filled(self, name: str, **values: Any) -> str:
        """One template with these values."""
        try:
            text = self._environment.get_template(name).render(**values)
        except TemplateError as error:
            raise UsageError(f"template {name} cannot be filled in: {error}") from error
        return text.strip() + "\n"


def _environment(folder: Path | None) -> Environment:
    own = [FileSystemLoader(folder)] if folder else []
    loader = ChoiceLoader([*own, PackageLoader("kernelgauge.generation.prompts")])
    return Environment(
        loader=loader,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )


def _facts(asked: Asked) -> dict[str, Any]:
    backend = backend_named(asked.backend)
    described = asked.include_hardware or asked.gpu_name is not None  # a wrong name is no less wrong where unused
    here = machine(asked.device, asked.gpu_name) if described else None
    here = here if asked.include_hardware else None
    examples = {"zero_shot": list, "one_shot": lambda: [backend.example()], "few_shot": backend.examples}
    draws = dict.fromkeys(asked.protocol.inputs.variants)
    return {
        "backend": backend,
        "language": backend.title or backend.name,
        "guide": _part_of_guide(backend.guide()),
        "examples": examples[asked.option](),
        "gpu": here if isinstance(here, Gpu) else None,
        "cpu": None if isinstance(here, Gpu) else here,
        "device": asked.device.partition(":")[0],
        "protocol": asked.protocol,
        "trials": len(asked.protocol.inputs.variants),
        "other_draws": [_DRAWS[variant] for variant in draws if variant in _DRAWS],
        "kernel_policy": asked.protocol.kernel_policy,
    }


def _part_of_guide(guide: str) -> str:
    """A guide without its title, what depends on the protocol, and where on disk its example lies."""
    sections = re.split(r"(?m)^(?=## )", guide)[1:]
    kept = [section for section in sections if not section.startswith(f"## {_OF_THE_PROTOCOL}")]
    text = "".join(kept).partition("\nA worked pair of reference and candidate:")[0]
    return text.strip()

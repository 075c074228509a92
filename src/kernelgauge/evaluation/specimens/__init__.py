"""Candidates kept to test the evaluator: honest ones it must accept, broken and cheating ones it must see through.

Each file opens with comment lines that say what it does and a line `# verdict: OUTCOME [RULE]` with what it must get.
All are written for the problem in `problem.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources

from kernelgauge.schema import Outcome, Problem

KINDS = ("honest", "broken", "cheats")
_VERDICT = "# verdict:"


@dataclass(frozen=True)
class Specimen:
    """One specimen and the verdict it must get."""

    kind: str
    name: str
    source: str
    outcome: Outcome
    rule: str | None


def problem() -> Problem:
    """The problem all specimens are written for."""
    source = resources.files(__name__).joinpath("problem.py").read_text()
    return Problem(key="specimens", name="linear_norm_relu", source=source)


def specimens() -> list[Specimen]:
    """All specimens, by kind and name; raises ValueError for one whose header has no verdict."""
    found = []
    for kind in KINDS:
        files = [file for file in resources.files(__name__).joinpath(kind).iterdir() if file.name.endswith(".py")]
        for file in sorted(files, key=lambda file: file.name):
            found.append(_read(kind, file.name.removesuffix(".py"), file.read_text()))
    return found


def _read(kind: str, name: str, source: str) -> Specimen:
    verdicts = [line.removeprefix(_VERDICT).split() for line in source.splitlines() if line.startswith(_VERDICT)]
    if len(verdicts) != 1 or len(verdicts[0]) not in (1, 2):
        raise ValueError(f"specimen {kind}/{name} needs one line '{_VERDICT} OUTCOME [RULE]'")
    outcome, *rule = verdicts[0]
    return Specimen(kind, name, source, Outcome(outcome), rule[0] if rule else None)

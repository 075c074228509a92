"""Candidates kept to test the evaluator: honest ones it must accept, broken and cheating ones it must see through.

Each file opens with comment lines: what it does, then lines `# key: value` with how it is judged and what is due.
`# verdict: OUTCOME [RULE]` is in every file; `# rules: NAME` where it is judged by other rules than the protocol's,
`# backend: NAME` where its language cannot be recognised, `# needs: cuda` or a module where it runs only with that.
All are written for the problem in `problem.py`.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from itertools import takewhile

from kernelgauge.backends.registry import backend_named, detect
from kernelgauge.schema import RULE_SETS, Outcome, Problem, RuleSetName

KINDS = ("honest", "broken", "cheats")
KEYS = ("class", "verdict", "rules", "backend", "needs")
_LINE = re.compile(rf"# ({'|'.join(KEYS)}): (.*\S)")


@dataclass(frozen=True)
class Specimen:
    """One specimen and the verdict it must get."""

    kind: str
    name: str
    source: str
    outcome: Outcome
    rule: str | None
    header: Mapping[str, str]
    """The values of the header by key."""

    @property
    def rules(self) -> RuleSetName | None:
        """By which rules it is judged; None: by those of the protocol."""
        found = self.header.get("rules")
        return next((name for name in RULE_SETS if name == found), None)

    @property
    def backend(self) -> str:
        """Its kernel language."""
        return self.header.get("backend") or detect(self.source)

    def runs_on(self, device: str) -> bool:
        """Whether this machine can judge it there."""
        needs = self.header.get("needs")
        lacks = needs not in (None, "cuda") and importlib.util.find_spec(str(needs)) is None
        return not lacks and (needs != "cuda" or device == "cuda") and backend_named(self.backend).missing(device) is None


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


def _header(source: str) -> dict[str, str]:
    """The lines `# key: value` among the comments that a file opens with; raises ValueError for a key said twice."""
    comments = takewhile(lambda line: line.startswith("#"), source.splitlines())
    found = [(match[1], match[2]) for line in comments if (match := _LINE.fullmatch(line))]
    if len(dict(found)) != len(found):
        raise ValueError("the header says one key twice")
    return dict(found)


def _read(kind: str, name: str, source: str) -> Specimen:
    header = _header(source)
    verdict = header.get("verdict", "").split()
    if len(verdict) not in (1, 2):
        raise ValueError(f"specimen {kind}/{name} needs one line '# verdict: OUTCOME [RULE]'")
    outcome, *rule = verdict
    return Specimen(kind, name, source, Outcome(outcome), rule[0] if rule else None, header)

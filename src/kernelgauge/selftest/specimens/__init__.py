"""Candidates kept to test the evaluator: honest ones it must accept, broken and cheating ones it must see through.

Each file opens with comment lines: what it does and what it hopes for, then lines `# key: value` (see `KEYS`) with
how it is judged and what is due. `class` and `verdict` stand in every file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from itertools import takewhile

from kernelgauge.backends.registry import detect
from kernelgauge.schema import KERNEL_POLICIES, Outcome, Problem, KernelPolicyName

KINDS = ("honest", "broken", "cheats")
KEYS = {
    "class": "row of docs/explanation/threat-model.md that it belongs to, or if honest resembles: `timing/late_work`",
    "verdict": "the outcome that is due, and for a rejection its rule; without one any will do",
    "cuda": "the same on a GPU, where another is due there",
    "problem": "the problem of `problems/` that it answers; default `linear_norm_relu`",
    "protocol": "the protocol that it is judged by; default `strict`",
    "kernel_policy": "what counts as a kernel, where that is not what the protocol says",
    "backend": "its kernel language; default: recognised from the text",
    "needs": "where alone it can be judged: on a `cpu`, on `cuda`, or where this module is installed",
    "time": "`honest`: timed too, it must not come out faster; `20 ms`: nor may any call seem shorter than that",
    "samples": "how many calls are timed; default 10 to 12",
    "forged": "above how many times the reference's speed its time counts as forged; default 2",
    "says": "words that must be in the reason",
    "scored": "`no`: its record must be left out of the score",
    "open": "why the evaluator cannot refuse it yet: the verdict says what it gets today",
}
_LINE = re.compile(rf"# ({'|'.join(KEYS)}): (.*\S)")
_ON_GPU = re.compile(r"^.*\n# on a GPU: (.*)$", re.MULTILINE)
_DOMAIN = re.compile(r"^# domain of (\w+): (\w+)$", re.MULTILINE)
_DEFAULT_PROBLEM = "linear_norm_relu"
# Most tricks would hide nearly all of the work; other users of the machine do not make anybody twice as fast.
_FORGED = 2.0


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
    def area(self) -> str:
        """First part of its class: `timing`, `correctness`, ..."""
        return self.header.get("class", "").partition("/")[0]

    def problem_on(self, device: str) -> Problem:
        """The problem it answers, in the size for this device."""
        return problem(self.header.get("problem", _DEFAULT_PROBLEM), device)

    @property
    def protocol(self) -> str:
        return self.header.get("protocol", "strict")

    def due(self, device: str) -> tuple[Outcome, str | None]:
        """Outcome and rule that are due on this device."""
        words = self.header.get("cuda", "") if device == "cuda" else ""
        return _verdict(words) if words else (self.outcome, self.rule)

    @property
    def kernel_policy(self) -> KernelPolicyName | None:
        """What counts as a kernel; None: what the protocol says."""
        found = self.header.get("kernel_policy")
        return next((name for name in KERNEL_POLICIES if name == found), None)

    @property
    def backend(self) -> str:
        """Its kernel language."""
        return self.header.get("backend") or detect(self.source)

    @property
    def least_ms(self) -> float | None:
        """No call of it can be shorter, in milliseconds; 0 where only the comparison says, None if it is not
        timed."""
        time = self.header.get("time")
        return None if time is None else 0.0 if time == "honest" else float(time.removesuffix(" ms"))

    @property
    def samples(self) -> int | None:
        """Calls that are timed; None: as few as for most."""
        found = self.header.get("samples")
        return None if found is None else int(found)

    @property
    def forged_speedup(self) -> float:
        """A speedup above this shows that its trick worked: it does the same work as the reference."""
        return float(self.header.get("forged", _FORGED))


def problem(name: str = _DEFAULT_PROBLEM, device: str = "cpu") -> Problem:
    """A problem that specimens answer; raises FileNotFoundError if there is none of that name.

    A line `# on a GPU: ...` in its text replaces the line before it on a GPU, for which a CPU's sizes are too small;
    a line `# domain of NAME: real` says what `schema.Problem.domains` would.
    """
    source = resources.files(__name__).joinpath("problems", f"{name}.py").read_text()
    if device != "cpu":
        source = _ON_GPU.sub(r"\1", source)
    key = "specimens" if name == _DEFAULT_PROBLEM else name
    domains = dict(_DOMAIN.findall(source))
    return Problem.model_validate({"key": key, "name": name, "source": source, "domains": domains})


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
    try:
        outcome, rule = _verdict(header.get("verdict", ""))
    except ValueError as error:
        raise ValueError(f"specimen {kind}/{name} needs one line '# verdict: OUTCOME [RULE]': {error}") from error
    return Specimen(kind, name, source, outcome, rule, header)


def _verdict(words: str) -> tuple[Outcome, str | None]:
    outcome, _, rule = words.partition(" ")
    return Outcome(outcome), rule or None

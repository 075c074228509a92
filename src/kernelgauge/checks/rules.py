"""What counts as a kernel: the kernel policies, and what a candidate's text and run mean under them. Pure functions.

The text gives leads. Only what no run could deny refuses by the text alone; everything else is settled by what the
candidate was seen to run, and is left for somebody to look at where that denies it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from kernelgauge.checks.source import compilers, dynamic, fallbacks, imports, inheritance, kernels
from kernelgauge.checks.source.lead import Lead
from kernelgauge.checks.source.python import PythonSource, Unreadable
from kernelgauge.schema import ExecutedWork, Finding, KernelPolicyName, KernelRule, Record

_TOKEN_SHARE = 0.05
# Watched calls have warmer caches than timed ones: only one that does something else takes longer. So do kernels that
# run side by side, for each of which the time counts.
_OTHER_CALL = 1.5
_NAMED = 3
_MOST_LEADS = 5


class KernelPolicy(Record):
    """Which rules reject a candidate, the gravest first, and which only mark it for review."""

    name: KernelPolicyName
    refuses: tuple[KernelRule, ...]
    reviews: tuple[KernelRule, ...]

    @property
    def applies(self) -> tuple[KernelRule, ...]:
        return self.refuses + self.reviews

    @property
    def needs_own_kernel(self) -> bool:
        return "no_own_kernel" in self.refuses


_NEVER: tuple[KernelRule, ...] = ("imports_evaluator", "inherits_reference", "torch_compile", "torch_fallback")

SETS: dict[KernelPolicyName, KernelPolicy] = {
    "default": KernelPolicy(name="default", refuses=_NEVER, reviews=("no_own_kernel", "dynamic_code")),
    "kernel-required": KernelPolicy(
        name="kernel-required", refuses=(*_NEVER, "no_own_kernel"), reviews=("dynamic_code",)
    ),
    "any": KernelPolicy(name="any", refuses=(), reviews=()),
}


@dataclass(frozen=True)
class Read:
    """What a candidate's text says."""

    leads: tuple[Lead, ...] = ()
    makes_kernels: bool = False
    """Whether kernels of its own could come about: it has means for them, or hides what it has."""
    declared: tuple[str, ...] = ()
    """Names of the GPU kernels in the C++ texts inside it."""
    loops: bool | None = None
    """Whether the C or C++ inside it has a loop; None where there is none, or not all can be read."""


@dataclass(frozen=True)
class Seen:
    """What the candidate was seen to do, put in the terms of the rules."""

    executed: ExecutedWork
    owns: bool | None
    """Whether an own kernel ran; None where that cannot be told."""
    works: tuple[str, ...] = ()
    """Operators of PyTorch and kernels of libraries that computed something."""
    reached: dict[tuple[int, int], str] = field(default_factory=dict)
    """The places of leads that were come by, with the stage: `load` or `forward`."""
    inside: dict[tuple[int, int], tuple[str, ...]] = field(default_factory=dict)
    """What computed while such a place was under way."""
    alone: bool = False
    """Whether nothing else was running on the device, so that a share of the time says something."""
    entered: tuple[str, ...] = ()
    """Ways into libraries that its own libraries name and no watcher sees: what they take looks like its own time."""
    times_longer: float | None = None
    """Time of its kernels in the watched call over that of a timed call; None where nothing was timed."""


def read(source: str, reference: str, backend: str, policy: KernelPolicy) -> Read:
    """Read a candidate's text under a kernel policy; a text that is no Python says nothing, for it will not load.

    Args:
        reference: text of the problem, which defines `Model`.
    """
    if not policy.applies:
        return Read()
    try:
        text = PythonSource(source)
        inside = kernels.embedded(text)
        makes = backend != "torch" or kernels.makes_kernels(text)
        hidden = list(dynamic.leads(text))
        found = [
            *imports.leads(text),
            *inheritance.leads(text, reference),
            *compilers.leads(text),
            *(fallbacks.leads(text, inside) if makes else ()),
            *kernels.leads(text, backend, inside),
            *hidden,
        ]
        declared = tuple(sorted(kernels.declared(text, inside)))
        loops = kernels.loops(text, inside)
    except Unreadable:
        return Read(makes_kernels=backend != "torch")
    except (RecursionError, MemoryError):
        deep = Lead("dynamic_code", 1, 1, "is nested too deeply to be read")
        return Read((deep,), makes_kernels=True)
    applying = (each for each in found if each.rule in policy.applies)
    return Read(tuple(_ordered(applying)), makes or bool(hidden), declared, loops)


def _ordered(leads: Iterable[Lead]) -> list[Lead]:
    """By place; of one rule in one line only the first, and of each rule only the first few."""
    first: dict[tuple[str, int], Lead] = {}
    for lead in sorted(leads, key=lambda lead: (lead.line, lead.weak, lead.column)):
        first.setdefault((lead.rule, lead.line), lead)
    found = list(first.values())
    return [lead for place, lead in enumerate(found) if _before(found[:place], lead) < _MOST_LEADS]


def _before(leads: Sequence[Lead], lead: Lead) -> int:
    return sum((each.rule, each.weak, each.certain) == (lead.rule, lead.weak, lead.certain) for each in leads)


def needs_run(found: Read, policy: KernelPolicy) -> bool:
    """Whether only a watched run can settle what the text leaves open."""
    settled_elsewhere = () if policy.needs_own_kernel else ("no_own_kernel",)
    return policy.needs_own_kernel or any(
        not lead.certain and lead.rule not in settled_elsewhere for lead in found.leads
    )


def settle(found: Read, seen: Seen | None, policy: KernelPolicy) -> tuple[Finding, ...]:
    """The findings; the first that refuses, in the order of the policy, comes first.

    Args:
        seen: None where the candidate was not watched: then nothing but the text alone refuses.
    """
    findings = [each for lead in found.leads if (each := _settled(lead, found, seen, policy)) is not None]
    if seen is not None:
        findings += _by_the_run_alone(findings, found, seen, policy)
    order = {rule: place for place, rule in enumerate(policy.applies)}
    return tuple(sorted(findings, key=lambda each: (each.severity != "refuse", order[each.rule], each.line or 0)))


def _settled(lead: Lead, found: Read, seen: Seen | None, policy: KernelPolicy) -> Finding | None:
    if lead.certain and lead.rule in policy.refuses:
        return _finding(lead, True, "")
    if seen is None:
        return None if lead.weak else _finding(lead, False, "")
    refuses, evidence = _judged(lead, found, seen)
    refuses = refuses and lead.rule in policy.refuses
    if not refuses and (lead.weak or (lead.rule == "no_own_kernel" and seen.owns)):
        return None
    return _finding(lead, refuses, evidence)


def _judged(lead: Lead, found: Read, seen: Seen) -> tuple[bool, str]:
    """Whether the run confirms a lead, and what it showed."""
    reached = seen.reached.get(lead.place) if lead.place else None
    match lead.rule:
        case "torch_compile":
            graphs = seen.executed.compiled_graphs
            return graphs > 0, _compiled(graphs)
        case "imports_evaluator":
            return reached is not None, f"it ran when {reached}ing" if reached else "it did not run"
        case "inherits_reference":
            return reached == "forward", "its forward ran" if reached == "forward" else "its forward did not run"
        case "torch_fallback":
            return _fell_back(lead, reached, seen)
        case "no_own_kernel":
            return _without_own(found, seen)
    return False, f"the watched call ran {_what(seen)}"


def _fell_back(lead: Lead, reached: str | None, seen: Seen) -> tuple[bool, str]:
    inside = seen.inside.get(lead.place, ()) if lead.place else ()
    if lead.place and reached is None:
        return False, "this branch did not run"
    if inside:
        return True, f"this branch ran {_listed(inside)}"
    without = seen.owns is False and bool(seen.works)
    here = f"this branch ran when {reached}ing; " if reached else ""
    return without, f"{here}the watched call ran {_what(seen)}"


def _without_own(found: Read, seen: Seen) -> tuple[bool, str]:
    return seen.owns is False, f"the watched call ran {_what(seen)}"


def _by_the_run_alone(findings: Sequence[Finding], found: Read, seen: Seen, policy: KernelPolicy) -> list[Finding]:
    """What the run shows and no line of the text accounts for."""
    named = {each.rule for each in findings}
    more = []
    if seen.executed.compiled_graphs and "torch_compile" in policy.refuses and "torch_compile" not in named:
        reason = "torch.compile was at work, though the text does not name it"
        more.append(_of_run("torch_compile", True, reason, _compiled(seen.executed.compiled_graphs)))
    if policy.needs_own_kernel and "no_own_kernel" not in named:
        share = seen.executed.own_share
        if seen.owns is False:
            reason = "no kernel of its own ran"
            more.append(_of_run("no_own_kernel", True, reason, _without_own(found, seen)[1]))
        elif seen.owns is None:
            reason = "whether a kernel of its own ran cannot be told"
            more.append(_of_run("no_own_kernel", False, reason, f"the watched call ran {_what(seen)}"))
        elif seen.entered:
            reason = f"its library calls {_listed(seen.entered)}, and how much is its own cannot be told"
            more.append(_of_run("no_own_kernel", False, reason, f"the watched call ran {_what(seen)}"))
        elif seen.times_longer is not None and seen.times_longer > _OTHER_CALL:
            reason = f"when watched, its kernels took {seen.times_longer:.1f} times as long as a timed call"
            more.append(_of_run("no_own_kernel", False, reason, f"the watched call ran {_what(seen)}"))
        elif seen.alone and share is not None and share < _TOKEN_SHARE:
            reason = f"its own kernels take {100 * share:.1f} % of the time"
            more.append(_of_run("no_own_kernel", False, reason, f"the watched call ran {_what(seen)}"))
    return more


def _finding(lead: Lead, refuses: bool, evidence: str) -> Finding:
    return Finding(
        rule=lead.rule,
        severity="refuse" if refuses else "review",
        line=lead.line,
        column=lead.column,
        reason=lead.reason,
        excerpt=lead.excerpt,
        evidence=evidence,
    )


def _of_run(rule: KernelRule, refuses: bool, reason: str, evidence: str) -> Finding:
    return Finding(rule=rule, severity="refuse" if refuses else "review", reason=reason, evidence=evidence)


def _compiled(graphs: int) -> str:
    return f"it compiled {graphs} graph{'s' * (graphs != 1)}" if graphs else "it compiled nothing"


def _what(seen: Seen) -> str:
    own = [each.name for each in seen.executed.own]
    parts = [_listed(seen.works)] if seen.works else []
    parts += [f"its own {_listed(own)}"] if own else ["nothing of its own"] if seen.owns is False else []
    return " and ".join(parts) or "nothing that could be seen"


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")

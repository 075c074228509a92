"""Does this installation see through what it must? Every shipped specimen through the real evaluator.

Those whose time says nothing come first, then those that are timed; each as in a run, on all devices. Honest ones
stand evenly between the others, so that harm one has done (a dead zygote, a full folder, a lost GPU) shows in the
next honest verdict.
"""

from __future__ import annotations

import importlib.util
import statistics
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Literal

from kernelgauge.backends.registry import backend_named
from kernelgauge.config import Limits, Protocol, load_protocol
from kernelgauge.errors import BackendMissing, KernelgaugeError
from kernelgauge.evaluation.job import Job
from kernelgauge.execution.local import Task
from kernelgauge.execution.machines import Executor
from kernelgauge.execution.order import Order
from kernelgauge.schema import Candidate, Evaluation, Outcome, Record
from kernelgauge.selftest.specimens import Specimen, specimens
from kernelgauge.session.session import Session

LIMITS = Limits(load_seconds=20, call_seconds=12, first_call_seconds=40, memory_gb=1.5, disk_gb=1.0)
"""Some specimens never answer, and some take all memory: they are waited for that long."""

_STRICT = "strict"
# Other users of the machine may spoil one timing, not three.
_TIMINGS = 3
# One pair of processes and few samples: what is asked is whether a time can be forged, not how long it is.
_FEW_SAMPLES = {"processes": 1, "warmups": 3, "min_samples": 10, "max_samples": 12}

SpecimenStanding = Literal["as due", "deviates", "skipped", "error"]


class SpecimenResult(Record):
    """What one specimen got, and whether that was due."""

    kind: str
    name: str
    threat: str
    """The class of the threat model that it belongs to."""
    due: str
    got: str = ""
    verdict: SpecimenStanding
    why: str = ""
    """Why it deviates, was skipped, or could not be judged."""
    reason: str = ""
    """The reason on its record."""
    speedup: float | None = None
    open: str = ""
    """Why the evaluator cannot refuse it yet."""
    seconds: float = 0.0
    log: str = ""
    spoilt: bool = False
    """Whether only its time deviates, as other users of the machine may have it."""

    @property
    def path(self) -> str:
        return f"{self.kind}/{self.name}"


def chosen(only: str | None) -> list[Specimen]:
    """All specimens, or those of one class, area, kind or name."""
    found = specimens()
    if only is None:
        return found
    return [s for s in found if only in (s.name, s.kind, f"{s.kind}/{s.name}", s.area, s.header.get("class"))]


def selftest(
    session: Session,
    found: Sequence[Specimen],
    device: str,
    jobs: int = 1,
    done: Callable[[SpecimenResult], None] = lambda finding: None,
    protocol: str = _STRICT,
) -> list[SpecimenResult]:
    """Judge these specimens on a device and say of each whether it got what is due; in the order given.

    Args:
        session: one with `LIMITS`.
        device: `cuda` stands for all visible GPUs, which share the work.
        jobs: how many are built, and on a CPU checked, at once.
        done: is told each finding as it is final.
        protocol: a name, or a `.toml` file, that stands in for `strict` wherever a specimen is judged by that.
    """
    findings: dict[str, SpecimenResult] = {}

    def final(finding: SpecimenResult) -> None:
        findings[finding.path] = finding
        done(finding)

    for timed in (False, True):
        waiting = []
        for specimen in found:
            if (specimen.least_ms is not None) is not timed:
                continue
            if reason := _missing(specimen, device, session.machines.here):
                final(_finding(specimen, device, "skipped", why=reason))
            else:
                waiting.append(specimen)
        with closing(session.executor(device, jobs, timed)) as executor:
            for left in reversed(range(_TIMINGS)):
                spoilt = []
                for specimen, finding in _judged(session, executor, _mixed(waiting), device, protocol):
                    if finding.spoilt and left:
                        spoilt.append(specimen)
                    else:
                        final(finding)
                waiting = spoilt
    return [findings[f"{specimen.kind}/{specimen.name}"] for specimen in found]


def _judged(
    session: Session, executor: Executor, waiting: Sequence[Specimen], device: str, protocol: str
) -> Iterator[tuple[Specimen, SpecimenResult]]:
    """What comes of each, as it is known."""

    def ordered(specimen: Specimen) -> Order:
        problem = specimen.problem_on(device)
        candidate = Candidate(problem=problem.key, source=specimen.source, backend=specimen.backend)
        name = protocol if specimen.protocol == _STRICT else specimen.protocol
        few = with_few_samples(load_protocol(name), specimen.samples)
        return Order(problem, few.under(kernel_policy=specimen.kernel_policy), candidate)

    def started(specimen: Specimen, on: str) -> Job:
        order = ordered(specimen)
        assert order.candidate is not None
        return session.job(order.problem, order.candidate, order.protocol, on)

    tasks = [
        Task(each.name, number, partial(started, each), order=partial(ordered, each))
        for number, each in enumerate(waiting)
    ]
    if not tasks:
        return
    for ended in executor.run(tasks):
        specimen = waiting[ended.task.sample]
        try:
            record = session.verdict(ended)
        except BackendMissing as error:  # on other machines, which could not be asked before
            yield specimen, _finding(specimen, device, "skipped", why=str(error))
            continue
        except KernelgaugeError as error:
            yield specimen, _finding(specimen, device, "error", why=f"{type(error).__name__}: {error}")
            continue
        assert isinstance(record, Evaluation), "a specimen is a candidate"
        why = _deviation(specimen, record, device)
        yield specimen, _finding(specimen, device, "deviates" if why else "as due", record, why)


def left_behind(session: Session) -> list[Path]:
    """What is in the scratch folders of a session while no worker runs: nothing may be."""
    session.supervisor.close()  # workers started ahead
    return list((session.settings.cache / "scratch").glob("*/*"))


def with_few_samples(protocol: Protocol, samples: int | None = None) -> Protocol:
    """The same rules with few samples, or so many, from one pair of processes."""
    few = _FEW_SAMPLES | ({} if samples is None else {"min_samples": samples, "max_samples": samples})
    content = protocol.model_dump()
    content["timing"] |= few
    content["gpu_timing"] |= few
    return Protocol.model_validate(content)


def _mixed(some: Sequence[Specimen]) -> list[Specimen]:
    """Those that are waited for until their limit first, beside others; then honest ones evenly among the rest."""
    slow = [each for each in some if each.outcome is Outcome.TIMED_OUT]
    honest = [each for each in some if each.kind == "honest" and each not in slow]
    rest = [each for each in some if each not in honest and each not in slow]
    every = len(rest) / max(len(honest), 1)
    placed = [(every * (index + 1), each) for index, each in enumerate(honest)]
    placed += [(float(index), each) for index, each in enumerate(rest)]
    return [*slow, *(each for _, each in sorted(placed, key=lambda pair: pair[0]))]


def _missing(specimen: Specimen, device: str, here: bool) -> str:
    """Why a specimen says nothing on this device; empty if it does. Other machines say themselves what they lack."""
    needs = specimen.header.get("needs")
    if needs in ("cpu", "cuda"):
        return "" if needs == device else f"needs {needs}"
    if needs and importlib.util.find_spec(needs) is None:
        return f"needs the module {needs}"
    backend = backend_named(specimen.backend)
    return backend.elsewhere(device) or (here and backend.missing(device)) or ""


def _mistimed(specimen: Specimen, record: Evaluation) -> str:
    """What is wrong with the time of a specimen; empty if it is honest or there is none."""
    timing, least = record.timing, specimen.least_ms
    if timing is None or least is None:
        return ""
    if timing.speedup > specimen.forged_speedup and record.standing == "faster":
        return f"its time was forged: {timing.speedup:.3g} times faster than the same work"
    typical = statistics.median(timing.candidate_samples_ms)
    if typical < least:
        return f"its time was forged: {typical:.3g} ms where no call takes less than {least:g} ms"
    return ""


def _deviation(specimen: Specimen, record: Evaluation, device: str) -> str:
    """How a verdict differs from what is due; empty if it does not."""
    due = specimen.due(device)
    if record.outcome is not due[0] or (due != (Outcome.REJECTED, None) and record.rule != due[1]):
        return f"{_words(record.outcome, record.rule)} where {_words(*due)} is due"
    says = specimen.header.get("says", "")
    if says not in record.reason:
        return f"the reason does not say {says!r}"
    if specimen.least_ms is not None and record.passed and record.timing is None:
        return "was not timed"
    if record.scored == (specimen.header.get("scored") == "no"):
        return (
            "its record counts"
            if record.scored
            else f"its record is left out: {record.trivial_answers} would pass too"
        )
    return _mistimed(specimen, record)


def _words(outcome: Outcome, rule: str | None) -> str:
    return f"{outcome.value} {rule}" if rule else outcome.value


def _finding(
    specimen: Specimen, device: str, verdict: SpecimenStanding, record: Evaluation | None = None, why: str = ""
) -> SpecimenResult:
    return SpecimenResult(
        kind=specimen.kind,
        name=specimen.name,
        threat=specimen.header.get("class", ""),
        due=_words(*specimen.due(device)),
        got=_words(record.outcome, record.rule) if record else "",
        verdict=verdict,
        why=why,
        reason=record.reason if record else "",
        speedup=record.speedup if record else None,
        open=specimen.header.get("open", ""),
        seconds=round(sum(record.seconds.values()), 2) if record else 0.0,
        log=record.log if record else "",
        spoilt=bool(why and record and why == _mistimed(specimen, record)),
    )

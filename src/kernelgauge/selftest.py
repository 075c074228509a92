"""Does this installation see through what it must? Every shipped specimen through the real evaluator.

What may run beside others runs first, several at a time: on a CPU the checks of all, on a GPU only the builds. What
is timed, and on a GPU everything, has its device for itself afterwards; several GPUs share that. Honest specimens
stand evenly between the others, so that harm one has done (a dead zygote, a full folder, a lost GPU) shows in the
next honest verdict.
"""

from __future__ import annotations

import importlib.util
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, closing, contextmanager, nullcontext
from pathlib import Path
from queue import SimpleQueue
from typing import Literal

from kernelgauge.backends.registry import backend_named
from kernelgauge.config import Limits, Protocol, load_protocol
from kernelgauge.errors import KernelgaugeError
from kernelgauge.evaluation.job import Job
from kernelgauge.evaluation.specimens import Specimen, specimens
from kernelgauge.execution.judge_process import JudgeProcess
from kernelgauge.execution.local import devices_of
from kernelgauge.schema import Candidate, Evaluation, Outcome, Record
from kernelgauge.session import Session

LIMITS = Limits(load_seconds=20, call_seconds=12, memory_gb=1.5)
"""Some specimens never answer, and some take all memory: they are waited for that long."""

# A trick that worked would make its specimen at least four times faster than the reference, which does the same work.
_FASTER = 2.0
# Other users of the machine may spoil one timing, not three.
_TIMINGS = 3
# One pair of processes and few samples: what is asked is whether a factor of four can be forged.
_QUICK = {"processes": 1, "warmups": 3, "min_samples": 10, "max_samples": 12}

Verdict = Literal["as due", "deviates", "skipped", "error"]
Judging = Callable[[Job, bool], Job]
"""Judges a job, and times it if asked to; may give back a copy."""


class Finding(Record):
    """What one specimen got, and whether that was due."""

    kind: str
    name: str
    threat: str
    """The class of the threat model that it belongs to."""
    due: str
    got: str = ""
    verdict: Verdict
    why: str = ""
    """Why it deviates, was skipped, or could not be judged."""
    reason: str = ""
    """The reason on its record."""
    speedup: float | None = None
    open: str = ""
    """Why the evaluator cannot refuse it yet."""
    seconds: float = 0.0
    log: str = ""

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
    done: Callable[[Finding], None] = lambda finding: None,
) -> list[Finding]:
    """Judge these specimens on a device and say of each whether it got what is due; in the order given.

    Args:
        session: one with `LIMITS`.
        jobs: how many are built, and on a CPU checked, at once.
        done: is told each finding as it is final.
    """
    findings: dict[str, Finding] = {}

    def final(finding: Finding) -> None:
        findings[finding.path] = finding
        done(finding)

    waiting = []
    for specimen in found:
        if reason := _missing(specimen, device):
            final(_finding(specimen, device, "skipped", why=reason))
        else:
            waiting.append(_Run(session, specimen, device))
    later = []
    with ThreadPoolExecutor(jobs, thread_name_prefix="kernelgauge") as pool:
        for future in as_completed([pool.submit(run.prepare) for run in _mixed(waiting)]):
            run = future.result()
            if run.needs_device:
                later.append(run)
            else:
                final(run.finding())
    with _judging(session, device) as judges:
        free = SimpleQueue[str]()
        for name in judges:
            free.put(name)

        def judged(run: _Run) -> _Run:
            name = free.get()
            try:
                return run.judge(name, judges[name])
            finally:
                free.put(name)

        with ThreadPoolExecutor(len(judges), thread_name_prefix="kernelgauge") as pool:
            for future in as_completed([pool.submit(judged, run) for run in _mixed(later)]):
                final(future.result().finding())
    return [findings[f"{specimen.kind}/{specimen.name}"] for specimen in found]


@contextmanager
def _judging(session: Session, device: str) -> Iterator[dict[str, Judging]]:
    """For each device what judges on it: of several each has a process with a clock of its own."""

    def here(job: Job, timed: bool) -> Job:
        session.supervisor.judge(job, timed)
        return job

    names = devices_of(device)
    with ExitStack() as open_ones:
        if len(names) == 1:
            yield {device: here}
        else:
            yield {name: open_ones.enter_context(closing(JudgeProcess(session.settings))).judge for name in names}


def left_behind(session: Session) -> list[Path]:
    """What is in the scratch folders of a session while no worker runs: nothing may be."""
    session.supervisor.close()  # workers started ahead
    return list((session.settings.cache / "scratch").glob("*/*"))


def quick(protocol: Protocol) -> Protocol:
    """The same rules with few samples from one pair of processes."""
    rules = protocol.model_dump()
    rules["timing"] |= _QUICK
    rules["gpu_timing"] |= _QUICK
    return Protocol.model_validate(rules)


class _Run:
    """One specimen on its way through the evaluator."""

    def __init__(self, session: Session, specimen: Specimen, device: str):
        self.specimen = specimen
        self._session = session
        self._device = device
        self._seconds = 0.0
        self._error = ""
        self._job: Job | None = None

    @property
    def timed(self) -> bool:
        return self.specimen.least_ms is not None

    @property
    def needs_device(self) -> bool:
        """Whether it is still to be judged with the device for itself."""
        if self._job is None or self._error:
            return False
        return self._device != "cpu" or (self.timed and self._job.failure is None)

    def prepare(self) -> _Run:
        """Build it, and on a CPU check it."""
        with self._accounted():
            self._job = self._start()
            with self._session.leases.shared("cpu") if self._device == "cpu" else nullcontext():
                self._session.supervisor.prepare(self._job)
        return self

    def judge(self, device: str, judging: Judging) -> _Run:
        """Time it, again where only other users of the machine may have spoilt that; on a GPU check it first."""
        assert self._job is not None
        for _ in range(_TIMINGS):
            with self._accounted(), self._session.leases.exclusive(device):
                self._job.device = device
                self._job = judging(self._job, self.timed)
            if self._error or not _mistimed(self.specimen, self._job.record()):
                break
        return self

    def finding(self) -> Finding:
        """What came of it."""
        if self._job is None or self._error:
            return _finding(self.specimen, self._device, "error", why=self._error, seconds=self._seconds)
        record = self._job.record()
        why = _deviation(self.specimen, record, self._device)
        return _finding(self.specimen, self._device, "deviates" if why else "as due", record, why, self._seconds)

    def _start(self) -> Job:
        specimen = self.specimen
        problem = specimen.problem_on(self._device)
        candidate = Candidate(problem=problem.key, source=specimen.source, backend=specimen.backend)
        rules = quick(load_protocol(specimen.protocol)).under(rules=specimen.rules)
        return self._session.job(problem, candidate, rules, self._device)

    @contextmanager
    def _accounted(self) -> Iterator[None]:
        """Add the time spent inside, and keep an error of the machine or of the problem as one."""
        started = time.monotonic()
        try:
            yield
        except KernelgaugeError as error:
            self._error = f"{type(error).__name__}: {error}"
        finally:
            self._seconds += time.monotonic() - started


def _mixed(runs: Sequence[_Run]) -> list[_Run]:
    """Those that are waited for until their limit first, beside others; then honest ones evenly among the rest."""
    slow = [run for run in runs if run.specimen.outcome is Outcome.TIMED_OUT]
    honest = [run for run in runs if run.specimen.kind == "honest"]
    rest = [run for run in runs if run not in honest and run not in slow]
    every = len(rest) / max(len(honest), 1)
    placed = [(every * (index + 1), run) for index, run in enumerate(honest)]
    placed += [(float(index), run) for index, run in enumerate(rest)]
    return [*slow, *(run for _, run in sorted(placed, key=lambda each: each[0]))]


def _missing(specimen: Specimen, device: str) -> str:
    """Why a specimen says nothing on this device; empty if it does."""
    needs = specimen.header.get("needs")
    if needs in ("cpu", "cuda"):
        return "" if needs == device else f"needs {needs}"
    if needs and importlib.util.find_spec(needs) is None:
        return f"needs the module {needs}"
    backend = backend_named(specimen.backend)
    return backend.missing(device) or ""


def _mistimed(specimen: Specimen, record: Evaluation) -> str:
    """What is wrong with the time of a specimen; empty if it is honest or there is none."""
    timing, least = record.timing, specimen.least_ms
    if timing is None or least is None:
        return ""
    if timing.speedup > _FASTER and record.standing == "faster":
        return f"its time was forged: {timing.speedup:.3g} times faster than the same work"
    typical = statistics.median(timing.candidate_samples_ms)
    if typical < least:
        return f"its time was forged: {typical:.3g} ms where no call takes less than {least:g} ms"
    return ""


def _deviation(specimen: Specimen, record: Evaluation, device: str) -> str:
    """How a verdict differs from what is due; empty if it does not."""
    due = specimen.due(device)
    if (record.outcome, record.rule) != due:
        return f"{_words(record.outcome, record.rule)} where {_words(*due)} is due"
    says = specimen.header.get("says", "")
    if says not in record.reason:
        return f"the reason does not say {says!r}"
    if specimen.least_ms is not None and record.passed and record.timing is None:
        return "was not timed"
    if record.counts == (specimen.header.get("counts") == "no"):
        return "its record counts" if record.counts else f"its record is left out: {record.trivial} would pass too"
    return _mistimed(specimen, record)


def _words(outcome: Outcome, rule: str | None) -> str:
    return f"{outcome.value} {rule}" if rule else outcome.value


def _finding(
    specimen: Specimen,
    device: str,
    verdict: Verdict,
    record: Evaluation | None = None,
    why: str = "",
    seconds: float = 0.0,
) -> Finding:
    return Finding(
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
        seconds=round(seconds, 2),
        log=record.log if record else "",
    )

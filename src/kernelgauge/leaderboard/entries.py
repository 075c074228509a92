"""What can stand on a leaderboard: one judged candidate, whose it is, and what its figures may be compared with."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from kernelgauge.config import load_protocol, protocols
from kernelgauge.errors import StoreError
from kernelgauge.leaderboard.disclosure import public
from kernelgauge.leaderboard.identity import identity
from kernelgauge.problems.suites import BUILT_IN
from kernelgauge.report.figures.shortcomings import shortcomings
from kernelgauge.report.table import Records
from kernelgauge.schema import Evaluation, Generation, NoCandidate, Record, RunHeader, digest, suite_of

OWN_FILES = "own files"
"""The suite shown for users' own reference files."""


class BoardSetting(Record):
    """Everything that two figures must share to stand in one table."""

    hardware: str
    """The GPU, or the processor with the number of threads."""
    suite: str
    sizes: str
    protocol: str
    protocol_digest: str
    kernel_policy: str
    math: str
    """Arithmetic of both sides, see `config.MathMode`; `unsaid` in records from before it was said."""
    gpu_memory_gb: float | None = None
    """The cap on the GPU's memory, if there was one."""

    @property
    def title(self) -> str:
        """What a reader tells settings apart by, in a few words."""
        parts = [self.hardware, self.protocol, f"{self.sizes} sizes", f"{self.math} arithmetic"]
        parts += [f"kernel policy {self.kernel_policy}"] if self.kernel_policy != "default" else []
        parts += [self.suite] if self.suite != BUILT_IN else []
        parts += [f"{self.gpu_memory_gb:g} GB"] if self.gpu_memory_gb else []
        return " · ".join(parts)

    @property
    def procedure(self) -> str:
        """How its protocol judges, in one line; empty if it is none of ours, or has changed since."""
        shipped = load_protocol(self.protocol) if self.protocol in protocols() else None
        return shipped.summary if shipped and shipped.digest == self.protocol_digest else ""

    @property
    def slug(self) -> str:
        """A folder's name: what the title says in plain letters, and a digest that no two settings share."""
        plain = re.sub(r"[^a-z0-9]+", "-", f"{self.hardware}-{self.protocol}-{self.sizes}-{self.math}".lower())
        return f"{plain.strip('-')[:60]}-{digest(self.model_dump_json())[:8]}"


class Contestant(Record):
    """Whoever wrote candidates; language models that were asked in another way are other contestants."""

    name: str
    detail: str = ""
    """How a language model was asked, in one line."""


@dataclass(frozen=True)
class Entry:
    """One judged candidate. Of those handed in one by one (`submitted`), a problem's best is the answer to it."""

    evaluation: Evaluation
    """As anybody may read it, see `disclosure.public`, unless its owner publishes all of it."""
    contestant: Contestant
    setting: BoardSetting
    source: str | None
    origin: str
    """Where the record comes from: the name of a run folder."""
    submitted: bool = False

    @cached_property
    def kernel(self) -> str:
        """Which kernel it is, whatever its text looks like; see `identity`."""
        return identity(self.source) if self.source is not None else self.evaluation.candidate_digest


@dataclass(frozen=True)
class Missing:
    """A problem that a contestant was asked for and had no answer to."""

    skip: NoCandidate
    contestant: Contestant
    setting: BoardSetting


@dataclass(frozen=True)
class Published:
    """What one run folder brings."""

    origin: str
    entries: tuple[Entry, ...]
    missing: tuple[Missing, ...]
    command: str = ""
    lacking: tuple[str, ...] = ()
    """What it lacks that it was to have, a sentence each: the figures of its contestant are not whole."""

    @property
    def settings(self) -> set[BoardSetting]:
        """Whose boards it stands on."""
        return {entry.setting for entry in self.entries} | {each.setting for each in self.missing}

    @property
    def contestants(self) -> set[Contestant]:
        """Who answered, or was asked in vain."""
        return {entry.contestant for entry in self.entries} | {each.contestant for each in self.missing}


def board_setting_of(evaluation: Evaluation, gpu_memory_gb: float | None = None) -> BoardSetting:
    """What the figures of this record may be compared with."""
    gpu = evaluation.environment.gpu if evaluation.device.startswith("cuda") else None
    cpu = f"{evaluation.environment.cpu}, {evaluation.environment.threads} threads"
    return BoardSetting(
        hardware=gpu or cpu,
        suite=_suite_of(evaluation.problem, evaluation.level),
        sizes=evaluation.sizes,
        protocol=evaluation.protocol,
        protocol_digest=evaluation.protocol_digest,
        kernel_policy=evaluation.kernel_policy,
        math=evaluation.math or "unsaid",
        gpu_memory_gb=gpu_memory_gb,
    )


def published(run: Records, words: bool = False, lacking: Sequence[str] | None = None) -> Published:
    """Everything in a run folder or log that can stand on a leaderboard. Raises StoreError if it cannot be read.

    A skip says nothing of the machine: it stands where the run's records of the same suite do, or else any of them.

    Args:
        words: publish logs and reasons word for word too.
        lacking: what the run lacks; default: what it says itself. One judged again lacks what the first one did.
    """
    header, origin = run.header, run.path.resolve().name
    entries = tuple(
        Entry(
            e if words else public(e),
            _contestant(e.contestant, header),
            board_setting_of(e, header.gpu_memory_gb),
            source,
            origin,
        )
        for e, source in _with_sources(run)
    )
    by_suite = {entry.setting.suite: entry.setting for entry in entries}
    missing = tuple(
        Missing(skip, _contestant(skip.contestant, header), by_suite.get(suite) or _beside(entries[-1], suite))
        for skip in run.skips()
        if entries and (suite := _suite_of(skip.problem, skip.level))
    )
    return Published(
        origin, entries, missing, header.command, tuple(shortcomings(run) if lacking is None else lacking)
    )


def _beside(entry: Entry, suite: str) -> BoardSetting:
    """Where problems of a suite stand of which a run has no verdict at all."""
    return entry.setting.model_copy(update={"suite": suite})


def _with_sources(run: Records) -> Iterator[tuple[Evaluation, str | None]]:
    """All records of the texts that stand; one that its contestant has replaced by another is no answer any more."""
    found = run.evaluations()
    stands = {(e.problem, e.sample): e.candidate_digest for e in found}
    for evaluation in found:
        if stands[evaluation.problem, evaluation.sample] != evaluation.candidate_digest:
            continue
        try:
            yield evaluation, run.source(evaluation.candidate_digest)
        except StoreError:  # its figures stand without it
            yield evaluation, None


def _contestant(name: str, header: RunHeader) -> Contestant:
    return Contestant(name=name, detail=_asked(header.generation) if header.generation else "")


def _asked(generation: Generation) -> str:
    limits = generation.budget.model_dump(exclude_none=True)
    parts = [
        generation.backend,
        generation.strategy,
        " ".join(["at most", *(f"{limit:g} {name}" for name, limit in limits.items())]) if limits else "",
        generation.option.replace("_", " "),
        f"temperature {generation.temperature:g}" if generation.temperature is not None else "",
        f"told of {generation.hardware}" if generation.hardware else "",
        *(f"{name} {value}" for name, value in sorted(generation.options.items())),
        f"{generation.max_regenerations} regenerations",
        f"prompt {generation.prompt_digest[:8]}",
    ]
    return ", ".join(filter(None, parts))


def _suite_of(problem: str, level: int | None) -> str:
    if level is None and not re.fullmatch(r"(?:[^:]+:)?\d+/\d+", problem):
        return OWN_FILES
    return suite_of(problem) or BUILT_IN

"""A run by name: contestant, problems and rules put together, then judged, as `kernelgauge run` and Python do it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from kernelgauge import __version__
from kernelgauge.config import Limits, MathMode, Protocol
from kernelgauge.errors import MachineError, UsageError
from kernelgauge.execution.local import Done, devices_of, lent_for_builds
from kernelgauge.execution.machines import Machines, ThisMachine, machines_named
from kernelgauge.generation.contestant import Contestant, digest_of, on_device, under
from kernelgauge.generation.contestants import contestant_from
from kernelgauge.judging import check_cap, protocol_under, sizes_of_run
from kernelgauge.problems.catalogue import DEFAULT_LEVELS
from kernelgauge.report.runs import FolderRun, StoredRun
from kernelgauge.schema import KernelPolicyName, RunHeader, Sizes
from kernelgauge.session.contest import Watch, judge_all
from kernelgauge.session.selection import check_one_suite, chosen_suite, selected
from kernelgauge.session.session import Session
from kernelgauge.store.run import Run
from kernelgauge.store.since import check_same_origin

# Compilers on one GPU at once: each holds a problem's inputs, outputs and parameters there. More where that GPU
# compiles for others that wait for it.
_MOST_ON_DEVICE = 8
_MOST_WHERE_LENT = 16
# Where other machines build and judge.
_ASKED_AT_ONCE = 4


@dataclass(frozen=True)
class Plan:
    """Who is judged on what, and how."""

    contestant: Contestant
    header: RunHeader
    protocol: Protocol

    @contextmanager
    def opened(self, out: Path) -> Iterator[Run]:
        """The run folder to append to: a new one, or the one that asked the same.

        Raises:
            StoreError: the folder holds something else, is in use, or cannot be written.
            UsageError: the run there is of another folder with other answers.
        """
        check_same_origin(out, self.header, partial(digest_of, self.contestant))
        with Run.create_or_resume(out, self.header) as store:
            yield store


def planned(
    contestant: str | Contestant,
    *,
    levels: Sequence[int] | None = None,
    problems: Sequence[str] | None = None,
    suite: str | None = None,
    limit: int | None = None,
    backend: str | None = None,
    sizes: str | None = None,
    device: str | None = None,
    protocol: str | Protocol = "strict",
    math: MathMode | None = None,
    timer: str | None = None,
    num_correct_trials: int | None = None,
    num_perf_trials: int | None = None,
    kernel_policy: str | None = None,
    gpu_memory_gb: float | None = None,
    command: str = "",
    machines: Machines | None = None,
) -> Plan:
    """What these options ask for; see `run`. Raises UsageError, ProblemError and DeviceMissing as `run` does."""
    where = (machines or ThisMachine()).device(device)
    judged = protocol_under(protocol, where, math, timer, kernel_policy).counting(num_correct_trials, num_perf_trials)
    check_cap(gpu_memory_gb, where)
    meant = chosen_suite(suite, problems)
    if suite is None and isinstance(contestant, str):
        check_one_suite(contestant, problems)
    who = under(contestant_from(contestant, backend, meant), judged.tolerance.math)
    everything = levels is None and problems is None and meant is None
    keys = selected(DEFAULT_LEVELS if everything else levels, problems, who, [meant])[:limit]
    if not keys:
        raise UsageError(f"{who.name} has no candidate for any of the problems asked for")
    header = RunHeader(
        kernelgauge=__version__,
        contestant=who.name,
        problems=tuple(keys),
        sizes=sizes_of_run(sizes, where, keys),
        device=where,
        protocol=judged.name,
        protocol_digest=judged.digest,
        math=judged.tolerance.math,
        kernel_policy=judged.kernel_policy,
        gpu_memory_gb=gpu_memory_gb,
        command=command,
        origin=getattr(who, "origin", ""),
    )
    return Plan(who, header, judged)


def judge_run(
    contestant: Contestant,
    run: Run,
    keys: Sequence[str],
    protocol: Protocol,
    jobs: int | None = None,
    *,
    again: bool = False,
    watch: Watch | None = None,
    machines: Machines | None = None,
) -> list[Done]:
    """`judge_all` in a session of its own, under the limits in the run's header; `jobs` None: the usual number."""
    here = machines is None or machines.here
    jobs = jobs or (usual_jobs(contestant, run.header.device) if here else _ASKED_AT_ONCE)
    with Session(limits=Limits(gpu_memory_gb=run.header.gpu_memory_gb), machines=machines) as session:
        return judge_all(session, contestant, run, keys, protocol=protocol, jobs=jobs, again=again, watch=watch)


def complain_of_unjudged(failed: Sequence[Done], what: str) -> None:
    """Nothing if none failed.

    Raises:
        MachineError: the machine failed some of them.
        UsageError: what was asked for cannot be: a problem that fails itself, a language that is not here.
    """
    machine = [done for done in failed if isinstance(done.result, MachineError)]
    others = [done for done in failed if done not in machine]
    said = []
    if machine:
        said.append(f"{len(machine)} {what} were not judged; the same command tries them again")
    if others:
        said.append(f"{what} not judged, for reasons that stay: {len(others)}; the first: {others[0].result}")
    if said:
        raise (MachineError if machine else UsageError)("; ".join(said))


def usual_jobs(contestant: Contestant, device: str) -> int:
    """On a GPU as many as there are cores; fewer if each would also compute there, and take of its memory."""
    cores = len(os.sched_getaffinity(0))
    if device == "cpu":
        return 1
    if not on_device(contestant):
        return cores
    lent = lent_for_builds(devices_of(device))
    return min(cores, _MOST_WHERE_LENT * lent or _MOST_ON_DEVICE)


def run(
    contestant: str | Contestant,
    out: str | Path,
    *,
    levels: Sequence[int] | None = None,
    problems: Sequence[str | Path] | None = None,
    suite: str | None = None,
    limit: int | None = None,
    backend: str | None = None,
    sizes: Sizes | None = None,
    device: str | None = None,
    protocol: str | Protocol = "strict",
    math: MathMode | None = None,
    timer: str | None = None,
    num_correct_trials: int | None = None,
    num_perf_trials: int | None = None,
    kernel_policy: KernelPolicyName | None = None,
    gpu_memory_gb: float | None = None,
    jobs: int | None = None,
    executor: str | None = None,
) -> StoredRun:
    """Judge a contestant on a part of the suite, and keep every record in a folder.

    As `kernelgauge run --contestant`, with the same defaults. What the folder holds already is not judged again: the
    same call goes on where one was interrupted. A language model is judged by `kernelgauge ask`.

    Args:
        contestant: `inductor`, `expert`, `folder:DIR`, a registered name, `module:Class`, or an object with `name`,
            `samples(problem)` and `complete(problem, sample, device)`.
        out: the run folder; new, empty, or a run that asked the same. It may ask for fewer problems.
        levels: levels of the suite; default: all but 4.
        problems: names of problems (`"1/23"`), or paths of reference files; default: all of the levels.
        suite: the imported suite that is meant; default: the built-in one, or that of all names.
        limit: only the first so many.
        backend: kernel language of a folder's files; default: recognised from each text.
        sizes: default: full on a GPU, medium on a CPU.
        device: `cpu`, `cuda` (every GPU), `cuda:1`; default: the GPU where there is one, else the CPU.
        math: arithmetic of both sides; default: the protocol's.
        timer: how calls are timed; default: the protocol's.
        num_correct_trials: checked calls; default: the protocol's.
        num_perf_trials: timed calls; default: the protocol's.
        kernel_policy: what counts as a kernel; default: what the protocol says.
        gpu_memory_gb: judge as on a GPU with so much memory; default: all it has.
        jobs: candidates generated and built at once, and on a CPU checked; default: 1, on a GPU one for each core.
        executor: who judges: `local` (the default), `ray` or `ray:ADDRESS,option=value` for a Ray cluster, a
            registered name, or `module:Class`.

    Returns:
        The run, as `load` gives it.

    Raises:
        UsageError: unknown names, or no candidate for any of these problems; after everything else is judged also
            for candidates that cannot be judged here.
        DeviceMissing: this machine has no such device.
        StoreError: `out` cannot be used.
        MachineError: the machine failed some of them; all others are in the folder, and the same call goes on.
    """
    with closing(machines_named(executor)) as machines:
        plan = planned(
            contestant,
            levels=levels,
            problems=None if problems is None else [str(name) for name in problems],
            suite=suite,
            limit=limit,
            backend=backend,
            sizes=sizes,
            device=device,
            protocol=protocol,
            math=math,
            timer=timer,
            num_correct_trials=num_correct_trials,
            num_perf_trials=num_perf_trials,
            kernel_policy=kernel_policy,
            gpu_memory_gb=gpu_memory_gb,
            machines=machines,
        )
        with plan.opened(Path(out)) as store:
            failed = judge_run(plan.contestant, store, plan.header.problems, plan.protocol, jobs, machines=machines)
    complain_of_unjudged(failed, "candidates")
    return FolderRun.read(out)

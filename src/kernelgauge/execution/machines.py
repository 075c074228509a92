"""Where candidates are judged: this machine, or others. The plug-in point behind `--executor`."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from typing import Protocol

from kernelgauge.config import Settings
from kernelgauge.errors import UsageError
from kernelgauge.evaluation.supervisor import Supervisor
from kernelgauge.execution.judge_process import JudgeProcess
from kernelgauge.execution.lease import Leases
from kernelgauge.execution.local import Done, LocalExecutor, Task, devices_of
from kernelgauge.judging import running_device
from kernelgauge.registry import resolve
from kernelgauge.schema import Environment

LOCAL = "local"
_BUILT_IN = {LOCAL: "kernelgauge.execution.machines:ThisMachine", "ray": "kernelgauge.cluster.machines:RayCluster"}
_GROUP = "kernelgauge.executors"


class Executor(Protocol):
    """Judges tasks, each once, on the devices it was made for."""

    def run(
        self,
        tasks: Iterable[Task],
        stage: Callable[[str], None] = lambda _: None,
        abandon_starts: Callable[[], None] = lambda: None,
    ) -> Generator[Done, None, None]:
        """Every task's end, as it is final; see `LocalExecutor.run`. Closing the generator ends what is under way."""

    def abandon(self) -> None:
        """End evaluations under way: they end in a MachineError, until `resume` or the next `run`."""

    def resume(self) -> None:
        """Let evaluations begin again."""

    def close(self) -> None:
        """End every process that was begun for it."""


@dataclass(frozen=True)
class ExecutorSetting:
    """What an executor is asked for, and what of this machine it may use."""

    device: str
    """`cpu`, `cuda` for all GPUs, or one of them."""
    jobs: int
    timed: bool
    settings: Settings
    supervisor: Supervisor
    leases: Leases
    threads: int | None = None
    """CPU threads of a worker; None: all cores of whichever machine."""
    hardware: str = ""
    """What earlier figures of this run come from, see `hardware_of`; empty where there are none."""
    tell: Callable[[str], None] = lambda _: None
    """Told in a sentence what happens to the machines."""


def hardware_of(environment: Environment, device: str) -> str:
    """The GPU, or on a CPU the processor: figures of one run come from one model of it."""
    return environment.cpu if device == "cpu" else environment.gpu or ""


class Machines(Protocol):
    """Where candidates are judged. A plug-in is made with what follows its name: `NAME:ADDRESS,option=value`."""

    here: bool
    """Whether they are judged on this machine, so that it can be asked what is there."""

    def device(self, wanted: str | None) -> str:
        """`cpu`, or `cuda` for all GPUs; None: the GPUs where there are any. Raises DeviceMissing."""

    def executor(self, setting: ExecutorSetting) -> Executor:
        """One for this setting; it is closed before the machines are."""

    def close(self) -> None:
        """Let go of what was connected to."""


class ThisMachine:
    """The default: every device of this machine."""

    here = True

    def __init__(self, given: str = ""):
        if given:
            raise UsageError(f"the executor {LOCAL} takes nothing, and was given {given!r}")

    def device(self, wanted: str | None) -> str:
        return running_device(wanted)

    def executor(self, setting: ExecutorSetting) -> LocalExecutor:
        """A CPU needs no process that judges: it does nothing else meanwhile."""
        judge = None if setting.device == "cpu" else partial(JudgeProcess, setting.settings)
        devices = devices_of(setting.device)
        return LocalExecutor(setting.supervisor, setting.leases, devices, setting.jobs, setting.timed, judge)

    def close(self) -> None:
        pass


def machines_named(text: str | None) -> Machines:
    """`local`, `ray`, `ray:ADDRESS,option=value`, a registered name, or `module:Class`; None: this machine.

    Raises:
        UsageError: there is none of that name, or it does not take what follows it.
    """
    text = text or LOCAL
    named, _, options = text.partition(",")
    name, _, address = named.partition(":")
    if name in {*_BUILT_IN, *(entry.name for entry in metadata.entry_points(group=_GROUP))}:
        named, options = name, ",".join(filter(None, (address, options)))
    made: Machines = resolve(named, _BUILT_IN, _GROUP, "executor")(options)
    return made

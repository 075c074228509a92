"""The oracle as the parent sees it: a process that draws inputs and knows the right answers, and what they share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from kernelgauge.checks.accumulation import Variances
from kernelgauge.checks.memory_plan import USUAL, MemoryPlan
from kernelgauge.checks.numerics import Distance
from kernelgauge.config import MathMode
from kernelgauge.errors import ReferenceTooLarge
from kernelgauge.evaluation.sides.prefork import PreforkPool, await_device, kind_of
from kernelgauge.evaluation.sides.problem_process import ask_problem_process, reserved
from kernelgauge.sandbox.process import WorkerProcess
from kernelgauge.sandbox.zygote_client import Zygote, worker_device
from kernelgauge.schema import GB, Domain, Problem
from kernelgauge.wire.commands import Attach, Command, Detach
from kernelgauge.wire.initialisers import Randomise
from kernelgauge.wire.messages import Claim, TensorSpec
from kernelgauge.wire.oracle_commands import (
    ConstructReference,
    Draw,
    Err,
    Expect,
    Imitate,
    LearnTruth,
    OpenProblem,
    SaveState,
)
from kernelgauge.wire.regions import Region, size_of
from kernelgauge.wire.shared_memory import create, create_on_host, memory_handles

# Of the draws that shapes and domains are learnt from: they judge nothing.
_FIRST_SEED = 1


class OracleProcess:
    """One problem in a process of its own; see `oracle.Oracle` for what it does there.

    Args:
        make_room: has others give back memory of the device; True if that was of any use.
        plan: how memory is shared out.

    Raises (from every method):
        ProblemError: the problem's own code fails; `ReferenceTooLarge` where memory does not suffice.
        MachineError: the process was killed from outside.
    """

    def __init__(
        self,
        zygote: Zygote,
        problem: Problem,
        device: str,
        prefork_pool: PreforkPool,
        make_room: Callable[[], bool],
        plan: MemoryPlan = USUAL,
    ):
        self._zygote = zygote
        self._prefork_pool = prefork_pool
        self._problem = problem
        self._device = device
        self._kind = kind_of("oracle", device, sealed=False)
        self._make_room = make_room
        self._plan = plan
        self._process: WorkerProcess | None = None
        self.inputs: Region
        """Where it writes the inputs that it draws."""
        self._truth: Region | None = None
        self.truth_specs: list[TensorSpec] = []
        """Shapes and dtypes of the right outputs."""
        self.takes_variances = False
        """Whether its forward has a variance taken; see `accumulating_operators.VARIANCES`."""
        self.takes_products = True
        """Whether its forward has a product that tensor cores can do; taken to have one until that is known."""
        self._shortcut: Region | None = None
        self.constructor: tuple[str, ...] = ()
        """Names of the constructor's arguments."""
        self.alike: dict[str, Domain] = {}
        """Arguments of `forward` that two draws of its own have in common, with their domains."""

    def start(self, math: MathMode, frugal: bool = False) -> Any:
        """Import the problem there, and make room for its inputs; returns the constructor's arguments, encoded."""
        process = self._process = self._prefork_pool.take(self._kind)
        limits = self._zygote.settings.limits
        reserved(self._problem, lambda: await_device(process, self._device, limits.load_seconds))
        path = process.scratch / "problem.py"
        path.write_text(self._problem.source)
        domains, where = dict(self._problem.domains), worker_device(self._device)
        frugal |= self._plan.tight
        asked = (str(path), _FIRST_SEED, domains, where, math, limits.gpu_memory_gb, frugal)
        described = self._tell(OpenProblem(*asked))
        self.inputs = self._create(size_of([TensorSpec(**spec) for spec in described.data["inputs"]]))
        self.constructor, self.alike = tuple(described.data["constructor"]), described.data["alike"]
        return described.data["init"]

    def goes_on(self) -> None:
        """Another pair of processes begins, and the next evaluation will need an oracle again."""
        self._prefork_pool.expect(self._kind)

    def construct(self, init: Any, seed: int, randomise: Randomise | None, precise: bool) -> None:
        """Build the reference; with `precise` in float64."""
        self._tell(ConstructReference(init, seed, randomise, precise))

    def attach_inputs(self) -> None:
        """Give it the region of inputs."""
        self._attach("inputs", self.inputs)

    def learn_truth(self) -> None:
        """Shapes of the right answers, from a first run."""
        claim = self._tell(LearnTruth(_FIRST_SEED))
        self.truth_specs = list(claim.tensors)
        self.takes_variances, self.takes_products = bool(claim.data["variances"]), bool(claim.data["products"])

    def attach_truth(self) -> None:
        """Make a region for right answers of these shapes, and give it to it."""
        size = size_of(self.truth_specs)
        self._truth = self._create_on_host(size) if self._plan.truth_on_host else self._create(size)
        self._attach("truth", self._truth)

    def draw(self, seed: int, variant: str) -> list[Any]:
        """Draw the inputs of a call into `inputs`; returns its arguments as `Side.stage` takes them."""
        arguments: list[Any] = self._tell(Draw(seed, variant)).data["arguments"]
        return arguments

    def truth(self, seed: int, beside: Callable[[], object] | None = None) -> list[torch.Tensor]:
        """The right outputs for the inputs drawn last; the next call of this overwrites them.

        Args:
            seed: of the call.
            beside: what to do meanwhile.
        """
        assert self._truth is not None
        self._tell(Expect(seed), beside)
        return self._truth.tensors(self.truth_specs)

    def imitate(self, seed: int, shortcut: str, specs: Sequence[TensorSpec]) -> tuple[list[torch.Tensor], bool]:
        """The answer of somebody who cuts one corner, of these shapes, and whether that changed any parameter."""
        if self._shortcut is None:
            self._shortcut = self._create(size_of(specs))
            self._attach("shortcut", self._shortcut)
        claim = self._tell(Imitate(seed, shortcut))
        return self._shortcut.tensors(specs), bool(claim.data["changed"])

    def err(self, seed: int, noise: int, variances: Variances = "usual") -> tuple[list[Distance], bool]:
        """How far honest float32 arithmetic could be from the right outputs that `truth` has returned for this seed.

        Also whether `offgrid` inputs were normalised; see `Oracle.err`.
        """
        data = self._tell(Err(seed, noise, variances)).data
        return [Distance(each["rms"], each["worst"]) for each in data["errors"]], bool(data["normalised"])

    def forget_shortcuts(self) -> None:
        """Give back the memory that `imitate` has taken."""
        if self._shortcut is not None:
            self._tell(Detach("shortcut"))
            self._shortcut.close()
            self._shortcut = None

    def state(self) -> bytes:
        """The reference's parameters as `torch.save` writes them."""
        assert self._process is not None
        path = Path(self._process.scratch / "state.pt")
        self._tell(SaveState(str(path)))
        return path.read_bytes()

    def alive(self) -> bool:
        """Whether its process is there."""
        return self._process is not None and self._process.alive()

    def rest(self) -> None:
        """Stop it until it is asked again: its idle threads would otherwise spin beside a timed call."""
        assert self._process is not None
        self._process.freeze()

    def end(self) -> None:
        """Have the process end, without waiting for that."""
        if self._process is not None:
            self._process.kill()

    def close(self) -> None:
        """End the process and give the memory of all regions back."""
        if self._process is not None:
            self._process.close()
        for region in (getattr(self, "inputs", None), self._truth, self._shortcut):
            if region is not None:
                region.close()

    def _create(self, size: int) -> Region:
        return reserved(self._problem, lambda: create(size, self._device))

    def _create_on_host(self, size: int) -> Region:
        try:
            return create_on_host(size, self._device)
        except OSError as error:
            why = f"no room for the right outputs in host memory either ({size / GB:.2f} GB: {error})"
            raise ReferenceTooLarge(f"problem {self._problem.key}: {why}; try smaller --sizes") from error

    def _attach(self, name: str, region: Region) -> None:
        messages, descriptors = memory_handles([region])
        self._tell(Attach(name, messages, descriptors=descriptors))

    def _tell(self, command: Command, beside: Callable[[], object] | None = None) -> Claim:
        assert self._process is not None
        self._process.thaw()
        limit = self._zygote.settings.limits.load_seconds
        try:
            return ask_problem_process(self._process, "oracle", self._problem, command, limit, beside)
        except ReferenceTooLarge:
            if not self._make_room():
                raise
            return ask_problem_process(self._process, "oracle", self._problem, command, limit)

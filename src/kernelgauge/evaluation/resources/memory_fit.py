"""Does judging a problem fit the memory of a device, and how would a smaller device do?

A problem that does not fit is left out for everybody, so no candidate may decide that it does not. It follows from
shapes, or from an experiment with the reference alone or against a copy of itself; what a candidate says counts only
against it.

What does not fit as usual is judged under a plan that takes less memory, and more time: `checks.memory_plan`. Which
one follows from the same, and so holds for every candidate alike.

A smaller device is a larger one of which the parent holds back the rest. The driver has nothing more to give then,
however it is asked: through PyTorch, by `cudaMalloc`, or by the oracle and the regions of the parent itself.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence

import torch

from kernelgauge.checks.memory import Floor, in_gb, least, surplus
from kernelgauge.checks.memory_plan import LADDER, MemoryPlan
from kernelgauge.config import Protocol, load_protocol
from kernelgauge.errors import ProblemError, ReferenceTooLarge
from kernelgauge.evaluation.resources.bound import Bounds
from kernelgauge.evaluation.resources.memory_use import MemoryUse
from kernelgauge.hardware.environment import device_index
from kernelgauge.problems.loader import load_problem, sizes_of
from kernelgauge.sandbox.zygote_client import worker_device
from kernelgauge.schema import GB, Environment, GpuMemory, Problem, Sizes
from kernelgauge.wire import device_regions

_SMALLER: tuple[Sizes, ...] = ("medium", "small")
_GRANULE = 2**21
_HINT = "; try smaller --sizes"

# Of what there is, what an evaluation takes beyond its floor: whole CUDA contexts, and what libraries and a forward
# take on the way. Where a plan leaves less, the next one saves trying.
_BEYOND = 0.08

Question = tuple[str, str, str]
"""What decides whether something fits: problem, rules of the judgement, kind of device."""


class MemoryFit:
    """Knows what there is and what is needed; remembers, as long as it lives, what did not fit.

    Args:
        cap_gb: of what there is, so much only; None: all.
        plans: how memory may be shared out, from the fastest to the one that takes the least; on a CPU, the first.
    """

    def __init__(self, bounds: Bounds, cap_gb: float | None, plans: Sequence[MemoryPlan] = LADDER):
        self._bounds = bounds
        self.cap_gb = cap_gb
        self.plans = plans
        self._failed: dict[Question, int] = {}
        """How many plans were tried in vain."""
        self._refused: dict[Question, tuple[str, float | None, float | None]] = {}
        self._room: dict[tuple[Question, MemoryPlan], bool] = {}

    def available(self, device: str) -> int | None:
        """Bytes there are for an evaluation; None where neither a cap nor a GPU says."""
        there = [] if self.cap_gb is None else [int(self.cap_gb * GB)]
        if torch.cuda.is_available():
            there.append(torch.cuda.get_device_properties(device_index(device)).total_memory)
        return min(there, default=None)

    def needed(self, problem: Problem, protocol: Protocol, environment: Environment) -> int | None:
        """Bytes that judging a copy of the reference takes at the least, under the plan that takes the least; None
        where its shapes are not known."""
        floor = self._floor(problem, protocol, environment)
        return None if floor is None else floor.whole

    def plan(self, problem: Problem, protocol: Protocol, device: str, environment: Environment) -> MemoryPlan:
        """How to share out memory: the first plan that has room by shapes, and was not found to have none.

        Plans that take more time than the usual one are not tried where that is sure to be in vain, or nearly.
        """
        first, available = self.plans[0], self.available(device)
        if device == "cpu" or available is None:
            return first
        left = self.plans[self._failed.get(_question(problem, protocol, device), 0) :]
        for plan in left:
            floor = self._floor(problem, protocol, environment, plan)
            spare = _BEYOND * available if plan.tight else 0.0
            if floor is None or floor.whole + spare <= available:
                return plan
        return left[-1]

    def tighten(
        self, problem: Problem, protocol: Protocol, device: str, environment: Environment, tried: MemoryPlan
    ) -> bool:
        """A plan was tried in vain; whether another one is left."""
        if device == "cpu" or tried not in self.plans[:-1]:
            return False
        self._failed[_question(problem, protocol, device)] = self.plans.index(tried) + 1
        return True

    def sparing(
        self, problem: Problem, protocol: Protocol, environment: Environment, plan: MemoryPlan
    ) -> MemoryPlan | None:
        """The plan that leaves more room to one candidate than the plan for all does, and sees as much of it.

        None beside the usual plan: tight ones see less of what a candidate keeps, so it must not choose them.
        """
        last = self.plans[-1]
        if not plan.tight or plan == last:
            return None
        floors = [self._floor(problem, protocol, environment, each) for each in (last, plan)]
        least, most = (None if floor is None else floor.whole for floor in floors)
        return None if least is not None and most is not None and least >= most else last

    def _floor(
        self, problem: Problem, protocol: Protocol, environment: Environment, plan: MemoryPlan | None = None
    ) -> Floor | None:
        try:
            call = self._bounds.call(problem, protocol.tolerance.math, environment)
        except ProblemError:
            return None
        precise = protocol.tolerance.rule == "oracle"
        plans = self.plans if plan is None else [plan]
        return min((least(call, precise, each) for each in plans), key=lambda floor: floor.whole)

    def check(self, problem: Problem, protocol: Protocol, device: str, environment: Environment) -> None:
        """Refuse at once what cannot fit, or did not before; needs no device.

        Raises:
            ReferenceTooLarge: it does not fit, whoever is judged.
        """
        if device == "cpu":
            return
        asked = _question(problem, protocol, device)
        if refused := self._refused.get(asked):
            raise ReferenceTooLarge(*refused)
        floor, available = self._floor(problem, protocol, environment), self.available(device)
        if floor is not None and available is not None and floor.whole > available:
            there = self._there(device)
            why = f"judging it takes at least {in_gb(floor.whole):.1f} GB of GPU memory, and there are {there}"
            why += f": {floor.told()}"
            raise self._refusal(problem, protocol, device, environment, why)

    def explained(
        self, problem: Problem, protocol: Protocol, device: str, environment: Environment, error: ReferenceTooLarge
    ) -> ReferenceTooLarge:
        """The refusal of a problem that was found out by trying not to fit; `check` knows of it from now on."""
        told = str(error).removeprefix(f"problem {problem.key}: ").removesuffix(_HINT)
        why = f"judging it takes more GPU memory than the {self._there(device)} there are ({told})"
        if (floor := self._floor(problem, protocol, environment)) is not None:
            why += f"; without intermediate results it is {in_gb(floor.whole):.1f} GB: {floor.told()}"
        return self._refusal(problem, protocol, device, environment, why)

    def remember(self, problem: Problem, protocol: Protocol, device: str, refusal: ReferenceTooLarge) -> None:
        """Have `check` refuse from now on what was refused elsewhere."""
        self._refused[_question(problem, protocol, device)] = (str(refusal), refusal.needed_gb, refusal.available_gb)

    def has_room(
        self, problem: Problem, protocol: Protocol, device: str, plan: MemoryPlan, tried: Callable[[], bool]
    ) -> bool:
        """Whether a copy of the reference has room beside it under a plan, as `tried` shows: asked once."""
        asked = _question(problem, protocol, device), plan
        if asked not in self._room:
            self._room[asked] = tried()
        return self._room[asked]

    @contextlib.contextmanager
    def capped(self, device: str) -> Iterator[None]:
        """Leave no more memory free than the cap says, while open; needs the device for itself.

        Raises:
            OutOfDeviceMemory: somebody else has taken memory at the same moment.
        """
        if device == "cpu" or self.cap_gb is None:
            yield
            return
        torch.cuda.empty_cache()
        free, _ = torch.cuda.mem_get_info(device_index(device))
        size = surplus(free, int(self.cap_gb * GB)) // _GRANULE * _GRANULE
        held = device_regions.allocate(size, device) if size else None
        try:
            yield
        finally:
            if held is not None:
                device_regions.release(held, device)

    def record(
        self,
        use: MemoryUse,
        problem: Problem,
        protocol: Protocol,
        device: str,
        environment: Environment,
        plan: MemoryPlan,
    ) -> GpuMemory | None:
        """What an evaluation took under a plan, beside what there was and what was foreseen."""
        available, floor = self.available(device), self._floor(problem, protocol, environment, plan)
        return use.record(available or 0, self.cap_gb, None if floor is None else floor.whole)

    def _there(self, device: str) -> str:
        available = self.available(device)
        if self.cap_gb is not None and available == int(self.cap_gb * GB):
            return f"{self.cap_gb:g} GB (--gpu-memory)"
        return f"{in_gb(available or 0):.1f} GB"

    def _refusal(
        self, problem: Problem, protocol: Protocol, device: str, environment: Environment, why: str
    ) -> ReferenceTooLarge:
        available = self.available(device)
        needed = self.needed(problem, protocol, environment)
        fitting = self._largest_that_fits(problem, protocol, device, environment)
        advice = "make its inputs smaller, or judge it on a GPU with more memory"
        if fitting is not None:
            larger = "judge it on a GPU with more memory, or smaller"
            advice = f"{larger}: the largest of its sizes that fits is {fitting}: --sizes {fitting}"
        inexact = self._without_oracle(problem, protocol, environment)
        if needed is not None and inexact is not None and inexact < needed:
            advice += f"; --protocol v0.1, which keeps no float64 oracle, takes at least {in_gb(inexact):.1f} GB"
        refusal = ReferenceTooLarge(
            f"problem {problem.key} {problem.name} at sizes {problem.sizes} does not fit: {why}; {advice}",
            None if needed is None else in_gb(needed),
            None if available is None else in_gb(available),
        )
        self.remember(problem, protocol, device, refusal)
        return refusal

    def _without_oracle(self, problem: Problem, protocol: Protocol, environment: Environment) -> int | None:
        """Bytes at the least under a protocol without an oracle, where this one has it."""
        if protocol.tolerance.rule != "oracle":
            return None
        return self.needed(problem, load_protocol("v0.1"), environment)

    def _largest_that_fits(
        self, problem: Problem, protocol: Protocol, device: str, environment: Environment
    ) -> Sizes | None:
        try:
            shipped = sizes_of(problem.key)
        except ProblemError:  # a problem that somebody made in memory
            return None
        smaller = _SMALLER[_SMALLER.index(problem.sizes) + 1 :] if problem.sizes in _SMALLER else _SMALLER
        available = self.available(device) or 0
        for sizes in smaller:
            if sizes in shipped:
                needed = self.needed(load_problem(problem.key, sizes=sizes), protocol, environment)
                if needed is not None and needed <= available:
                    return sizes
        return None


def _question(problem: Problem, protocol: Protocol, device: str) -> Question:
    return problem.digest, protocol.judgement_digest, worker_device(device)

"""Does a problem count? Learnt beside the first candidate whose check lets it, or else by itself; then remembered."""

from __future__ import annotations

import torch

from kernelgauge.config import Protocol
from kernelgauge.evaluation.correctness.screening import Screening, ScreeningTrials, precisions
from kernelgauge.evaluation.job import Job
from kernelgauge.evaluation.resources.memory_fit import MemoryFit
from kernelgauge.evaluation.sides.reference import Reference
from kernelgauge.hardware.environment import device_index
from kernelgauge.problems.verified import accepted_on_record
from kernelgauge.schema import Environment, Problem

# So many times the bytes of one call must be free for a problem to be screened beside a candidate: what is kept of
# other answers, in float64 too, must not be what a candidate lacks. Where low precision is not tried, none is in
# float64, and what is kept where memory is scarce lies in host memory. On a CPU nobody tells what is free for us.
_TO_WEIGH = 5
_TO_KEEP = 2
_LARGE_ON_A_CPU = 2**32


class Screen:
    """Work-skipping answers that a protocol would accept on a problem, whoever asks first."""

    def __init__(self, screening: Screening, memory: MemoryFit):
        self._screening, self._memory = screening, memory

    def trivial_answers(
        self, problem: Problem, protocol: Protocol, device: str, environment: Environment
    ) -> tuple[str, ...]:
        """Such answers, found by trying them where that is not remembered.

        Raises:
            ProblemError: the reference itself fails; `ReferenceTooLarge` where memory does not suffice.
        """
        with self._memory.capped(device):
            plan = self._memory.plan(problem, protocol, device, environment)
            found = self._screening.trivial_answers(problem, protocol, device, environment, plan)
        return _with_recorded(problem, protocol, found)

    def known(
        self, problem: Problem, protocol: Protocol, device: str, environment: Environment
    ) -> tuple[str, ...] | None:
        """What `trivial_answers` says where that is remembered, and no device is needed; else None."""
        found = self._screening.known(problem, protocol, device, environment)
        return None if found is None else _with_recorded(problem, protocol, found)

    @staticmethod
    def beside(job: Job, reference: Reference) -> ScreeningTrials | None:
        """What looks at every trial of a check; None where a candidate may need the memory."""
        if job.alone or not _has_room(reference):
            return None
        return ScreeningTrials(reference, precisions(job.protocol), asks=False)

    def seen(self, job: Job, screening: ScreeningTrials) -> tuple[str, ...] | None:
        """What was found beside a check, kept from now on; None where that had to be given up, or only asking could
        decide."""
        if screening.gave_up or screening.undecided:
            return None
        found = self._screening.keep(screening, job.problem, job.protocol, job.device, job.environment)
        return _with_recorded(job.problem, job.protocol, found)


def _has_room(reference: Reference) -> bool:
    if reference.device == "cpu":
        return reference.bytes_per_call <= _LARGE_ON_A_CPU
    weighs = reference.takes_products and bool(precisions(reference.protocol))
    if reference.plan.tight and not weighs:
        return True
    free, _ = torch.cuda.mem_get_info(device_index(reference.device))
    return bool((_TO_WEIGH if weighs else _TO_KEEP) * reference.bytes_per_call <= free)


def _with_recorded(problem: Problem, protocol: Protocol, found: tuple[str, ...]) -> tuple[str, ...]:
    """What was found; where a weak problem is left out, also what is on record as a cut corner it accepts."""
    return tuple(dict.fromkeys([*found, *accepted_on_record(problem, protocol)]))

"""A task as plain data, for machines that share nothing with this one."""

from __future__ import annotations

from dataclasses import dataclass

from kernelgauge.config import Protocol
from kernelgauge.generation.contestant import Contestant
from kernelgauge.schema import Candidate, NoCandidate, Problem, digest


@dataclass(frozen=True, eq=False)
class Order:
    """What is judged, and by which rules; where, and in which environment, is the machine's to say.

    It can be pickled wherever its contestant can.
    """

    problem: Problem
    protocol: Protocol
    answer: Candidate | NoCandidate | Contestant
    """A contestant that computes on the device is asked where it is judged; any other has answered already."""
    sample: int = 0

    @property
    def candidate(self) -> Candidate | None:
        """The text to be judged, where it is known already."""
        return self.answer if isinstance(self.answer, Candidate) else None

    @property
    def key(self) -> str:
        """Of what is judged: equal keys in one environment are one evaluation, however often they are sent."""
        text = self.candidate.digest if self.candidate else ""
        who = self.answer.name if not isinstance(self.answer, Candidate | NoCandidate) else self.answer.contestant
        rules = (self.protocol.digest, self.protocol.kernel_policy, self.protocol.imports)
        return digest("\n".join((self.problem.key, self.problem.digest, *rules, who, str(self.sample), text)))

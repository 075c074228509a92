"""How an evaluation shares out the memory of a device: as usual, or so that a large problem fits at all.

All plans judge alike; those further down the ladder take less memory and more time. What each takes at the least says
`checks.memory`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class MemoryPlan:
    """One way to share out memory."""

    name: str
    tight: bool = False
    """Whether nobody keeps what another needs: before the oracle computes, both sides give back what they keep for
    later calls, the reference its region of inputs too; only the candidate's outputs are copied to stay, and no
    worker holds large outputs of an earlier call."""
    truth_on_host: bool = False
    """Whether the right outputs lie in the memory of the host, and come to the device in pieces to be compared."""

    @property
    def note(self) -> str:
        """For the record; empty where all is as usual."""
        if not self.tight:
            return ""
        where = ", the right outputs in host memory" if self.truth_on_host else ""
        return f"memory is scarce for this problem: judged with as little of it as possible{where}"


USUAL = MemoryPlan("usual")
TIGHT = MemoryPlan("tight", tight=True)
TIGHTEST = MemoryPlan("tightest", tight=True, truth_on_host=True)
LADDER = (USUAL, TIGHT, TIGHTEST)
"""From the fastest to the one that takes the least memory."""

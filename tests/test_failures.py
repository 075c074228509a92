"""What went wrong on a side, in the words of a record."""

from __future__ import annotations

from kernelgauge.evaluation.channel import Claim
from kernelgauge.evaluation.failures import claimed_failure
from kernelgauge.schema import Outcome

NO_MEMORY = """Traceback (most recent call last):
  File "candidate.py", line 9, in forward
    y = torch.empty_like(x)
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 8.00 GiB. GPU 0 has a total capacity of 139.80 GiB of \
which 6.59 GiB is free. Process 2342 has 119.79 GiB memory in use. If reserved but unallocated memory is large try \
setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
"""


def test_memory_that_ran_out_is_said_without_the_card_and_everybody_elses() -> None:
    found = claimed_failure("forward", Claim(event="failed", kind="OutOfMemory", message=NO_MEMORY))
    assert found.outcome is Outcome.OUT_OF_MEMORY
    said = "CUDA out of memory. Tried to allocate 8.00 GiB."
    assert found.reason == f"forward: torch.OutOfMemoryError: {said}"

"""What a worker does before its call, while it is to get ready, is seen by the processor time it takes."""

from __future__ import annotations

import pytest

from kernelgauge.config import load_protocol
from kernelgauge.evaluation.sides.reference import Reference
from kernelgauge.schema import Problem
from kernelgauge.session.session import Session

pytestmark = pytest.mark.processes

BURNS = """import time
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        end = time.process_time() + 0.05
        while time.process_time() < end:
            pass
        return x + 1


def get_inputs():
    return [torch.rand(8)]


def get_init_inputs():
    return []
"""


def test_the_time_between_two_stops_is_that_of_what_ran_in_between(session: Session) -> None:
    burns = Problem(key="burns", name="burns", source=BURNS)
    with Reference(session._zygote, burns, load_protocol("strict"), "cpu") as reference:
        side = reference.side
        reference.draw("own")
        for _ in range(2):
            side.stage(reference.arguments, reference.master, reference.call_seed, stop=True)
            staging = side.process.used_between_stops()
            call = side.call()
            side.process.freeze()
            calling = side.process.used_between_stops()
        if not side.process.layers:
            pytest.skip("nobody can stop whole namespaces here")
        side.process.freeze()
        assert calling is not None and calling > 50_000_000 > call.staged_ns
        assert staging is not None and staging < calling
        stopped = side.process.used_between_stops()
        assert stopped is not None and stopped < 200_000

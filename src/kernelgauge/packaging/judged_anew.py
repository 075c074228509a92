"""What of a package is judged once more, since nobody has in the form that the package has it in: sealed, as ever."""

from __future__ import annotations

from kernelgauge.errors import DeviceMissing
from kernelgauge.hardware.environment import missing_device
from kernelgauge.packaging.calls import Call
from kernelgauge.packaging.weights_as_inputs import (
    candidate_with_weights,
    problem_with_weights,
    reference_with_weights,
)
from kernelgauge.packaging.winners import Winner
from kernelgauge.schema import Problem
from kernelgauge.session.session import Session


def ignores_weights(session: Session, winner: Winner, call: Call) -> str | None:
    """Why a candidate does not answer with the weights that come with a call; None if it does.

    Raises:
        DeviceMissing: this machine has no such device.
    """
    if not call.state:
        return None
    record = winner.evaluation
    if missing := missing_device(record.device):
        raise DeviceMissing(
            f"whether a kernel follows its weights is judged on the device that it is for, and {missing}; "
            "package where the run was made"
        )
    source = candidate_with_weights(winner.source, call.names[: call.inputs], call.state)
    reason = _wrong(session, winner, call, source, record.backend, record.device)
    return reason and f"does not follow its weights where they come with the call: {reason}"


def other_reference(session: Session, first: Problem, winner: Winner, call: Call) -> str | None:
    """Why the reference of an operator's first variant does not compute what a later one's does; None if it does.

    At shapes that nobody named, the first answers: a constant that changes more than shapes makes another operator.
    """
    if first.digest == winner.problem.digest:
        return None
    device = winner.evaluation.device
    source = reference_with_weights(first.source, call.names[: call.inputs], call.state)
    reason = _wrong(session, winner, call, source, "torch", "cpu" if missing_device(device) else device)
    return reason and f"answers another computation than the first variant, not only other shapes: {reason}"


def _wrong(session: Session, winner: Winner, call: Call, source: str, backend: str, device: str) -> str | None:
    record, problem = winner.evaluation, winner.problem
    if call.state:
        problem = problem_with_weights(problem, call.names[: call.inputs], call.state)
    again = session.evaluate(
        problem,
        source,
        backend=backend,
        protocol="quick",
        device=device,
        math=record.math,  # type: ignore[arg-type]
        timed=False,
        kernel_policy="any",
    )
    return None if again.passed else f"{again.outcome}: {again.reason}"

"""Does this installation judge as it must? Three fixture candidates per backend, through the real evaluator."""

from __future__ import annotations

from kernelgauge.backends.registry import backend_named, names
from kernelgauge.errors import KernelgaugeError
from kernelgauge.schema import Outcome, Problem, Record
from kernelgauge.session.session import Session

_ZEROS = '''

_Right = ModelNew


class ModelNew(_Right):
    """The same kernel, and an answer that ignores it."""

    def forward(self, *args):
        return torch.zeros_like(super().forward(*args))
'''
_NOT_PYTHON = "Certainly! Here is the optimised kernel you asked for:\n"


class BackendResult(Record):
    """What one backend did on one device."""

    backend: str
    device: str
    works: bool | None
    """True: judged all three fixtures as it must; False: it did not; None: it cannot run here."""
    why: str
    isolation: tuple[str, ...] = ()


def certify(session: Session) -> list[BackendResult]:
    """One finding per backend and device, in the order of the backends."""
    return [_certify(session, name, device) for name in names() for device in backend_named(name).devices]


def _certify(session: Session, name: str, device: str) -> BackendResult:
    backend = backend_named(name)
    if reason := backend.missing(device):
        return BackendResult(backend=name, device=device, works=None, why=reason)
    reference, right = backend.example()
    problem = Problem(key=f"example of {name}", name="example", source=reference)
    expected = {right: Outcome.PASSED, right + _ZEROS: Outcome.WRONG_VALUE, _NOT_PYTHON: Outcome.LOAD_FAILED}
    layers: tuple[str, ...] = ()
    for source, due in expected.items():
        try:
            record = session.evaluate(problem, source, backend=name, device=device, timed=False)
        except KernelgaugeError as error:
            return BackendResult(backend=name, device=device, works=False, why=str(error))
        layers = record.isolation or layers
        if record.outcome is not due:
            found = f"{record.outcome} ({record.reason})" if record.reason else record.outcome
            why = f"the fixture that must be {due} was {found}"
            return BackendResult(backend=name, device=device, works=False, why=why, isolation=layers)
    why = "right passed, zeros refused, not-Python refused"
    return BackendResult(backend=name, device=device, works=True, why=why, isolation=layers)

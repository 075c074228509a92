"""Shapes that an owner names: a file of size constants by problem, and winners judged anew at them."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from kernelgauge import __version__
from kernelgauge.config import Protocol, first_complaint
from kernelgauge.errors import ProblemError, UsageError
from kernelgauge.packaging.winners import LeftOut, Winner, class_of, left_out, why_not
from kernelgauge.problems.loader import load_problem
from kernelgauge.problems.sizes import Constant, with_constants
from kernelgauge.schema import Candidate, Problem, RunHeader
from kernelgauge.session.session import Session
from kernelgauge.store.disk import make_folder, write_whole
from kernelgauge.store.run import Run

Shapes = Mapping[str, Sequence[Mapping[str, Constant]]]
"""By problem's key: the values of its size constants, once for each shape."""

_FORM: TypeAdapter[dict[str, list[dict[str, Constant]]]] = TypeAdapter(dict[str, list[dict[str, Constant]]])


def read_shapes(path: Path) -> Shapes:
    """A JSON or TOML file such as `{"1/19": [{"batch_size": 16, "dim": 4096}]}`.

    Raises:
        UsageError: it is not there, malformed, or empty.
    """
    try:
        content = path.read_bytes()
        found = tomllib.loads(content.decode()) if path.suffix == ".toml" else json.loads(content)
        shapes = _FORM.validate_python(found)
    except FileNotFoundError as error:
        raise UsageError(f"there is no file {path}") from error
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    except ValidationError as error:
        raise UsageError(f"{path} is no table of constants by problem: {first_complaint(error)}") from error
    except ValueError as error:
        raise UsageError(f"{path} is malformed: {error}") from error
    if not any(shapes.values()):
        raise UsageError(f"{path} names no shapes")
    return shapes


class Judged:
    """Winners at other shapes: judged once each, and kept in a run folder, so that the same call goes on.

    Args:
        folder: for the problems' texts and the run.
    """

    def __init__(self, session: Session, folder: Path, protocol: Protocol, device: str, tell: Callable[[str], None]):
        self._session, self._protocol, self._device, self._tell = session, protocol, device, tell
        self._folder = folder

    def at(
        self, winners: Sequence[Winner], shapes: Sequence[Mapping[str, Constant]], left: list[LeftOut]
    ) -> list[list[Winner]]:
        """For each shape the winners that are fit there too, the surest first; the others go to `left`.

        Raises:
            UsageError: a constant that the problem has not got.
            MachineError: the machine failed one of them; those before it are kept.
        """
        found = []
        for number, constants in enumerate(shapes):
            problem = self._problem(winners[0].problem, constants, number)
            fit = []
            for sample, winner in enumerate(winners):
                judged = self._judged(problem, winner, sample)
                reason = why_not(judged.evaluation)
                if reason is None and class_of(judged.evaluation) != class_of(winner.evaluation):
                    reason = "was judged on another machine than at its first shape"
                if reason:
                    named = ", ".join(f"{name} = {value}" for name, value in constants.items())
                    left.append(left_out(judged.evaluation, f"{reason} (at {named})"))
                else:
                    fit.append(judged)
            found.append(sorted(fit, key=lambda winner: -winner.floor))
        return found

    def _problem(self, problem: Problem, constants: Mapping[str, Constant], number: int) -> Problem:
        try:
            text = with_constants(problem.source, constants)
        except ProblemError as error:
            raise UsageError(f"problem {problem.key} at shape {number + 1}: {error}") from error
        make_folder(self._folder)
        path = self._folder / f"{problem.name}_{Problem(key='', name='', source=text).digest}.py"
        write_whole(path, text.encode())
        return load_problem(path).model_copy(update={"domains": problem.domains})

    def _judged(self, problem: Problem, winner: Winner, sample: int) -> Winner:
        record = winner.evaluation
        protocol = self._protocol.under(math=record.math, kernel_policy=record.kernel_policy)  # type: ignore[arg-type]
        header = RunHeader(
            kernelgauge=__version__,
            contestant="package",
            problems=(problem.key,),
            sizes="full",
            device=self._device,
            protocol=protocol.name,
            protocol_digest=protocol.digest,
            math=protocol.tolerance.math,
            kernel_policy=protocol.kernel_policy,
        )
        folder = self._folder / f"run-{protocol.name}-{protocol.tolerance.math}-{protocol.kernel_policy}"
        with Run.create_or_resume(folder, header) as run:
            known = {(e.problem, e.candidate_digest): e for e in run.evaluations()}
            found = known.get((problem.key, record.candidate_digest))
            if found is None:
                self._tell(f"judging a winner of {record.problem} at another shape")
                asked = {"backend": record.backend, "protocol": protocol, "device": self._device}
                judged = self._session.evaluate(problem, winner.source, **asked)  # type: ignore[arg-type]
                found = judged.model_copy(update={"contestant": record.contestant, "sample": sample})
                candidate = Candidate(problem=problem.key, source=winner.source, backend=record.backend)
                run.append(found, candidate)
        return Winner(found, problem, winner.source)

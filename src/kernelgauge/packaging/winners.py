"""Which kernels of some runs are fit to be used, the fastest first; and why all others are not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kernelgauge.config import load_protocol, protocols
from kernelgauge.errors import ProblemError
from kernelgauge.problems.loader import load_problem
from kernelgauge.report.runs import StoredRun
from kernelgauge.schema import Evaluation, Problem, Record, why_weak

MachineClass = tuple[str, str, str]
"""Kind of device, its name, release of PyTorch: kernels of two classes are in no package together."""


class LeftOut(Record):
    """A judged candidate that does not go into a package."""

    problem: str
    contestant: str
    sample: int
    record: str
    """Its identity: `Evaluation.id`."""
    reason: str
    """Half a sentence whose subject is the candidate."""


@dataclass(frozen=True)
class Winner:
    """A candidate that is right, surely faster than its reference, and without a flag."""

    evaluation: Evaluation
    problem: Problem
    """The very text that it was judged on."""
    source: str

    @property
    def floor(self) -> float:
        """The speedup that is sure: the lower end of its interval."""
        assert self.evaluation.timing is not None
        return self.evaluation.timing.interval[0]


def winners(runs: Iterable[StoredRun]) -> tuple[dict[str, list[Winner]], list[LeftOut]]:
    """By problem's digest, the winners that are of one class of machine, the surest first; and who is left out.

    The class is that of most problems; of two with as many, that of the newest record.

    Raises:
        StoreError: a run cannot be read.
    """
    fit: list[Winner] = []
    left: list[LeftOut] = []
    problems: dict[tuple[str, str], Problem | str] = {}
    for run in runs:
        for record in run.latest():
            reason = why_not(record)
            if reason is None:
                key = (record.problem, record.sizes)
                problem = problems.setdefault(key, _problem(record))
                if isinstance(problem, str):
                    reason = problem
                elif problem.digest != record.problem_digest:
                    reason = "was judged on another text of its problem than the one that is here now"
                else:
                    fit.append(Winner(record, problem, run.source(record.candidate_digest)))
                    continue
            left.append(left_out(record, reason))
    return _of_one_class(fit, left), left


def why_not(record: Evaluation) -> str | None:
    """Why a record alone says that its candidate must not be used; None if it does not."""
    if not record.passed:
        return f"is {record.outcome}: {record.reason}"
    flags = [finding.reason for finding in record.findings] + [record.bound.review if record.bound else ""]
    if flagged := next(filter(None, flags), None):
        return f"has a flag that somebody must look at: {flagged}"
    if not record.scored:
        return f"answers a problem that does not count: {record.protocol} {why_weak(record.trivial_answers)}"
    if record.timing is None:
        return "was not timed"
    if record.standing != "faster":
        low, high = record.timing.interval
        return f"is not surely faster than its reference: {record.standing}, between {low:.3g} and {high:.3g} times"
    if record.protocol in protocols() and load_protocol(record.protocol).inputs.seeds != "secret":
        return f"was judged under {record.protocol}, whose inputs anybody can know"
    if record.math not in ("ieee", "tf32", "fp16", "bf16"):
        return f"was judged in arithmetic {record.math!r}, which says nothing of its precision"
    return None


def class_of(record: Evaluation) -> MachineClass:
    """Where a record's figures hold."""
    kind = record.device.partition(":")[0]
    name = record.environment.gpu if kind == "cuda" else record.environment.cpu
    return kind, name or "unknown", record.environment.torch.partition("+")[0]


def left_out(record: Evaluation, reason: str) -> LeftOut:
    """That candidate, and why it is left out."""
    return LeftOut(
        problem=record.problem,
        contestant=record.contestant,
        sample=record.sample,
        record=record.id,
        reason=reason,
    )


def _problem(record: Evaluation) -> Problem | str:
    try:
        return load_problem(record.problem, sizes=record.sizes)
    except ProblemError as error:
        return f"answers a problem that is not here any more: {error}"


def _of_one_class(fit: Sequence[Winner], left: list[LeftOut]) -> dict[str, list[Winner]]:
    classes = {(each.problem.digest, class_of(each.evaluation)) for each in fit}
    problems = Counter(where for _, where in classes)
    newest = {class_of(w.evaluation): w.evaluation.created for w in sorted(fit, key=lambda w: w.evaluation.created)}
    chosen = max(problems, key=lambda where: (problems[where], newest[where]), default=None)
    found: dict[str, list[Winner]] = {}
    for each in sorted(fit, key=lambda winner: -winner.floor):
        where = class_of(each.evaluation)
        if where == chosen:
            found.setdefault(each.problem.digest, []).append(each)
        else:
            assert chosen is not None
            names = (f"{name} with PyTorch {torch}" for _, name, torch in (where, chosen))
            left.append(left_out(each.evaluation, "was judged on {}, and the rest on {}".format(*names)))
    return found

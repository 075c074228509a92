"""What judges claims: the session's executor, as for any run; its protocol draws secret seeds."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Protocol

from kernelgauge.backends.registry import detect
from kernelgauge.errors import BackendMissing
from kernelgauge.evaluation.job import Job
from kernelgauge.execution.local import Done, Task, devices_of
from kernelgauge.judging import check_secret
from kernelgauge.problems.loader import load_problem, sizes_within
from kernelgauge.sandbox.walls import standing
from kernelgauge.schema import Candidate, Evaluation
from kernelgauge.serve.claims import SubmissionClaim
from kernelgauge.serve.setting import ServerSetting
from kernelgauge.session.languages import languages_on, without_language
from kernelgauge.session.session import Session


class LanguageMissing(BackendMissing):
    """A text was recognised as one in a language that is not here.

    Args:
        verdict: on the candidate, if it is here nowhere.
    """

    def __init__(self, verdict: Evaluation):
        super().__init__(verdict.reason)
        self.verdict = verdict


class Evaluator(Protocol):
    """What a judge hands its claims to."""

    ahead: int
    """How many claims it can use at once."""

    def submit(self, claim: SubmissionClaim, begun: Callable[[], None]) -> Future[Evaluation]:
        """Queue it; `begun` is called when work on it begins. The future raises what is not the candidate's fault:
        UsageError where this machine cannot judge it, anything else where it failed.
        """

    def close(self) -> None:
        """End; what is under way is lost."""


class SessionEvaluator:
    """Judges on this machine's devices; what is built meanwhile is built beside it, as in a run."""

    def __init__(self, setting: ServerSetting):
        check_secret(setting.protocol)
        self._setting = setting
        self._session = Session()
        self.ahead = setting.jobs if setting.device == "cpu" else 2 * setting.jobs
        self.layers = standing(self._session.supervisor.zygote)
        """Those around the workers of this machine."""
        self.devices = len(devices_of(setting.device))
        """How many judge at once."""
        self.environment = self._session.environment.digest
        """The digest of what verdicts are measured in."""
        self.languages = languages_on(setting.device)
        """Which kernel languages it can judge."""
        self._queue = self._session.queue(setting.device, setting.jobs, self.ahead, changed=lambda _: None)

    def submit(self, claim: SubmissionClaim, begun: Callable[[], None]) -> Future[Evaluation]:
        task = Task(claim.problem, claim.number, partial(self._begin, claim, begun))
        verdict: Future[Evaluation] = Future()
        self._queue.submit(task).add_done_callback(partial(self._end, verdict))
        return verdict

    def close(self) -> None:
        self._queue.close()
        self._session.close()

    def _begin(self, claim: SubmissionClaim, begun: Callable[[], None], device: str) -> Job:
        begun()
        setting, session = self._setting, self._session
        problem = load_problem(claim.problem, sizes=sizes_within(claim.problem, setting.sizes))
        session.memory.check(problem, setting.protocol, device, session.environment)
        candidate = Candidate(
            problem=problem.key,
            source=claim.source,
            backend=claim.backend or detect(claim.source),
            contestant=claim.account,
            origin=f"submission {claim.number}",
        )
        if not claim.backend:
            verdict = without_language(session, problem, candidate, setting.protocol, device, self.languages)
            if verdict is not None:
                raise LanguageMissing(verdict)
        return session.job(problem, candidate, setting.protocol, device)

    def _end(self, verdict: Future[Evaluation], done: Future[Done]) -> None:
        try:
            record = self._session.verdict(done.result())
            assert isinstance(record, Evaluation), "a submission is a candidate"
            verdict.set_result(record)
        except BaseException as error:  # boundary: the judge must hear of it, whatever it is
            verdict.set_exception(error)

"""The primitive on this machine: many texts at once, each to a reward, by the session's own queue."""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any

from pydantic import Field

from kernelgauge.backends import registry
from kernelgauge.config import Protocol
from kernelgauge.errors import KernelgaugeError, MachineError, UsageError, permanent
from kernelgauge.evaluation.job import Job
from kernelgauge.execution.evaluation_queue import EvaluationQueue
from kernelgauge.execution.local import Done, Task, devices_of
from kernelgauge.judging import check_secret, protocol_under, running_device, sizes_of
from kernelgauge.problems.loader import load_problem
from kernelgauge.schema import Candidate, Evaluation, KernelPolicyName, Problem, Record, Sizes
from kernelgauge.session.languages import languages_on, without_language
from kernelgauge.session.session import Session
from kernelgauge.training.judgement import FeedbackLevel, no_verdict, of_verdict, without_candidate
from kernelgauge.training.request import MOST_BYTES, JudgeRequest, candidate_in, request_of
from kernelgauge.training.reward import DEFAULT, Reward, load_reward

_REMEMBERED = 1024


class JudgeConfig(Record):
    """How texts are judged and rewarded: plain data, to be pickled or written as JSON."""

    reward: Reward | str = DEFAULT
    """A shipped reward, the path of a `.toml` file, or the reward itself."""
    feedback: FeedbackLevel = "G+E"
    protocol: str = "quick"
    """Name or path; one with secret seeds."""
    sizes: Sizes | None = None
    """None: full on a GPU, medium on a CPU."""
    device: str | None = None
    """`cpu`, `cuda` for all GPUs, `cuda:1`; None: the GPUs where there are any, else the CPU."""
    kernel_policy: KernelPolicyName | None = None
    """None: the one that the reward asks for, else the protocol's."""
    jobs: int = Field(default=1, ge=1)
    """Candidates built at once, and on a CPU checked at once."""
    most_bytes: int = Field(default=MOST_BYTES, ge=1, le=1 << 20)
    """Of a policy's text."""


class Judge:
    """Judges what policies write. It can be pickled: what travels is its configuration.

    Args:
        config: how; or the fields of one as keywords.

    Raises:
        UsageError: unknown reward, protocol or device; public seeds; a kernel policy that the reward cannot use.
    """

    def __init__(self, config: JudgeConfig | None = None, **options: Any):
        self.config = config or JudgeConfig(**options)
        self.reward = load_reward(self.config.reward)
        self.device = running_device(self.config.device)
        self.protocol = self._chosen_protocol()
        self._lock = threading.Lock()
        self._languages: tuple[str, ...] = ()
        self._opened: tuple[Session, EvaluationQueue] | None = None
        self._verdicts: OrderedDict[tuple[str, str, str], Future[Evaluation]] = OrderedDict()

    async def __call__(
        self,
        problem: str,
        text: str,
        turn: int = 0,
        history: Sequence[Mapping[str, Any]] = (),
        *,
        backend: str = "",
    ) -> dict[str, Any]:
        """Judge one text; the keys are those of `Judgement`.

        Never raises for anything a policy writes, nor for a failure of the machine: that has the status `no_verdict`.

        Args:
            turn: from 0.
            history: the answers for the earlier turns, oldest first.

        Raises:
            UsageError: unknown problem or backend, or a history of another length than the turn.
        """
        (answer,) = await self.batch([request_of(problem, text, turn, history, backend)])
        return answer

    async def batch(self, requests: Sequence[JudgeRequest | Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Judge many texts at once; the answers are in their order. Equal texts are judged once. Raises as a call."""
        asked = [each if isinstance(each, JudgeRequest) else request_of(**each) for each in requests]
        problems = [self._problem(each) for each in asked]  # before anything is begun
        waiting = [self._answer(each, problem) for each, problem in zip(asked, problems, strict=True)]
        return list(await asyncio.gather(*waiting))

    def close(self) -> None:
        """End every process; what is under way has no verdict."""
        with self._lock:
            opened, self._opened = self._opened, None
            self._verdicts.clear()
        if opened:
            session, queue = opened
            queue.close()
            session.close()

    def __enter__(self) -> Judge:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[type[Judge], tuple[JudgeConfig]]:
        return Judge, (self.config,)

    def _chosen_protocol(self) -> Protocol:
        wanted = self.reward.kernel_policy
        policy = self.config.kernel_policy or wanted
        if wanted and policy != wanted:
            raise UsageError(f"the reward {self.reward.name} needs the kernel policy {wanted}, not {policy}")
        found = protocol_under(self.config.protocol, self.device, None, None, policy)
        check_secret(found)
        return found

    def _problem(self, request: JudgeRequest) -> Problem:
        if request.backend and request.backend not in registry.names():
            raise UsageError(f"there is no backend {request.backend!r}: name one of {', '.join(registry.names())}")
        return load_problem(request.problem, sizes=sizes_of(self.config.sizes, self.device, request.problem))

    async def _answer(self, request: JudgeRequest, problem: Problem) -> dict[str, Any]:
        # On a thread: looking through a long text takes a while, and the trainer's loop has other things to do.
        source, reason = await asyncio.to_thread(candidate_in, request.text, self.config.most_bytes)
        if source is None:
            return without_candidate(request, reason, self.reward).model_dump(mode="json")
        try:
            # On a thread too: the first begins processes.
            future = await asyncio.to_thread(self._verdict, problem, source, request.backend)
            # Others may wait for the same: whoever is cancelled leaves it to them.
            verdict = await asyncio.shield(asyncio.wrap_future(future))
            found = of_verdict(request, source, verdict, self.reward, self.config.feedback)
        except KernelgaugeError as error:
            found = no_verdict(request, self.reward, str(error), retry=not permanent(error))
        except (OSError, RuntimeError, MemoryError) as error:  # no process, no thread or no memory left
            found = no_verdict(request, self.reward, f"this machine failed: {type(error).__name__}: {error}")
        return found.model_dump(mode="json")

    def _verdict(self, problem: Problem, source: str, backend: str) -> Future[Evaluation]:
        chosen = backend or registry.detect(source)
        key = (problem.digest, backend, source)
        with self._lock:
            known = self._verdicts.get(key)
            if known is not None and not (known.done() and known.exception()):
                self._verdicts.move_to_end(key)
                return known
            if self._opened is None:
                self._opened = self._open()
            made: Future[Evaluation] = Future()
            self._verdicts[key] = made
            while len(self._verdicts) > _REMEMBERED:
                self._verdicts.popitem(last=False)
            session, queue = self._opened
        candidate = Candidate(problem=problem.key, source=source, backend=chosen, contestant="policy")
        try:
            if not backend and (verdict := self._without_language(session, problem, candidate)):
                made.set_result(verdict)
                return made
            task = Task(problem.key, 0, partial(self._job, session, problem, candidate))
            queue.submit(task).add_done_callback(partial(self._end, session, made))
        except BaseException as error:  # boundary: whoever waits for the same must hear of it
            made.set_exception(error)
            raise
        return made

    def _open(self) -> tuple[Session, EvaluationQueue]:
        session = Session()
        self._languages = languages_on(self.device)
        # Texts are small: all of a training step's may wait. 0 places: any number.
        return session, session.queue(self.device, self.config.jobs, 0, changed=lambda _: None)

    def _without_language(self, session: Session, problem: Problem, candidate: Candidate) -> Evaluation | None:
        first, *_ = devices_of(self.device)
        return without_language(session, problem, candidate, self.protocol, first, self._languages)

    def _job(self, session: Session, problem: Problem, candidate: Candidate, device: str) -> Job:
        session.memory.check(problem, self.protocol, device, session.environment)
        return session.job(problem, candidate, self.protocol, device)

    def _end(self, session: Session, verdict: Future[Evaluation], done: Future[Done]) -> None:
        try:
            record = session.verdict(done.result())
            assert isinstance(record, Evaluation), "a candidate was submitted"
            verdict.set_result(record)
        except KernelgaugeError as error:
            verdict.set_exception(error)
        except BaseException as error:  # boundary: whoever waits must hear of it, whatever it is
            verdict.set_exception(MachineError(f"this machine failed: {type(error).__name__}: {error}"))

"""The judge's loop: claim, hand to the evaluator, keep the verdict, and hold the leases meanwhile."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from contextlib import suppress
from functools import partial

from sqlalchemy.exc import SQLAlchemyError

from kernelgauge.errors import MachineError, UsageError, permanent
from kernelgauge.schema import Evaluation
from kernelgauge.serve.claims import ATTEMPTS, SubmissionClaim, SubmissionClaims
from kernelgauge.serve.evaluator import Evaluator, LanguageMissing
from kernelgauge.serve.judges import JudgePresence

FAILURES = 5
"""With so many different submissions in a row a judge fails before it takes itself for what is broken, and ends."""
_LOOK_SECONDS = 0.5
_RENEWALS = 6
"""In one lease: a database that is away for a while costs no claim."""
_log = logging.getLogger(__name__)


class Judge:
    """Judges submissions until it is told to stop.

    Args:
        judged: told of every claim that ended, and whether its verdict was kept.
        pause: seconds without a new claim after a failure of this machine, doubled by each further one.
        presence: says in the database that this judge is at work.
    """

    def __init__(
        self,
        claims: SubmissionClaims,
        evaluator: Evaluator,
        judged: Callable[[SubmissionClaim, bool], None] = lambda claim, kept: None,
        pause: float = 1.0,
        presence: JudgePresence | None = None,
    ):
        self._claims, self._evaluator, self._judged, self._pause = claims, evaluator, judged, pause
        self._presence = presence
        self._under_way: dict[Future[Evaluation], SubmissionClaim] = {}
        self._renewing = threading.Lock()
        self._failed: dict[int, str] = {}
        self._rests_until = 0.0

    def run(self, stop: threading.Event) -> None:
        """Go on until `stop` is set; what is not done then goes back to the queue, as if it had not been begun.

        Raises:
            MachineError: this machine has failed with too many submissions in a row.
            UsageError: the server judges with other rules by now.
        """
        ended = threading.Event()
        renewer = threading.Thread(target=self._hold, args=(ended,), name="kernelgauge-leases", daemon=True)
        renewer.start()
        try:
            while not stop.is_set():
                self._take()
                if self._under_way:
                    done, _ = wait(self._under_way, _LOOK_SECONDS, return_when=FIRST_COMPLETED)
                    for future in done:
                        self._end(future)
                else:
                    stop.wait(_LOOK_SECONDS)
                if len(self._failed) >= FAILURES:
                    last = list(self._failed.values())[-1]
                    raise MachineError(
                        f"this machine failed with {len(self._failed)} submissions in a row, with the last because "
                        f"of: {last}. They wait for another judge; see `kernelgauge doctor`, and begin this one again"
                    )
        finally:
            ended.set()
            renewer.join(self._claims.lease / _RENEWALS)
            for claim in self._under_way.values():
                _until_it_works(partial(self._claims.give_back, claim), self._claims.lease)

    def _take(self) -> None:
        while len(self._under_way) < self._evaluator.ahead and time.monotonic() >= self._rests_until:
            try:
                claim = self._claims.take()
            except SQLAlchemyError as error:
                _log.warning("no submission could be claimed: %s", error)
                return
            if claim is None:
                return
            with self._renewing:
                self._under_way[self._evaluator.submit(claim, partial(self._begin, claim))] = claim

    def _begin(self, claim: SubmissionClaim) -> None:
        try:
            self._claims.begin(claim)
        except SQLAlchemyError as error:  # it only goes uncounted
            _log.warning("the attempt at submission %d was not counted: %s", claim.number, error)

    def _end(self, future: Future[Evaluation]) -> None:
        claim, error = self._under_way[future], _error_of(future)
        reason = f"this machine cannot judge it: {error}" if isinstance(error, UsageError) else f"{_FAILED}: {error}"
        # Where others have failed before it, the machine is suspected, and not what it was given.
        counts = isinstance(error, UsageError) or not self._failed.keys() - {claim.number}
        if error is None:
            if "open" in future.result().seconds:  # refused texts and builds say nothing of the device
                self._failed.clear()
            action = partial(self._claims.end, claim, future.result())
        else:
            action = partial(self._put_off, claim, error, reason, counts)
            if not isinstance(error, UsageError):
                _log.warning("submission %d was not judged: %s", claim.number, error, exc_info=_unexpected(error))
                self._failed[claim.number] = str(error)
                self._rests_until = time.monotonic() + self._pause * 2 ** (len(self._failed) - 1)
        _until_it_works(lambda: self._judged(claim, action()), self._claims.lease)
        with self._renewing:  # not before: where that could not be, it goes back to the queue
            del self._under_way[future]

    def _put_off(self, claim: SubmissionClaim, error: BaseException, reason: str, counts: bool) -> bool:
        elsewhere, language = False, error.verdict.backend if isinstance(error, LanguageMissing) else ""
        if claim.private and isinstance(error, UsageError) and self._presence:
            elsewhere = self._presence.others(language)
        last = not elsewhere or claim.attempts + counts >= ATTEMPTS
        if claim.private and last and isinstance(error, LanguageMissing):
            return self._claims.end(claim, error.verdict)  # a text that chooses what nobody has is at fault itself
        return self._claims.put_off(claim, reason, counts, elsewhere, retry=not permanent(error))

    def _hold(self, ended: threading.Event) -> None:
        while True:
            with self._renewing:
                held = list(self._under_way.values())
            try:
                self._claims.renew(held)
                if self._presence:
                    self._presence.say()
            except SQLAlchemyError as error:
                _log.warning("leases could not be renewed: %s", error)
            if ended.wait(self._claims.lease / _RENEWALS):
                break
        with suppress(SQLAlchemyError):
            if self._presence:
                self._presence.end()


_FAILED = "this machine failed"


def _error_of(future: Future[Evaluation]) -> BaseException | None:
    try:
        return future.exception()
    except CancelledError as error:
        return error


def _unexpected(error: BaseException) -> BaseException | None:
    return None if isinstance(error, MachineError | CancelledError) else error


def _until_it_works(action: Callable[[], object], seconds: float) -> None:
    """A database that is away for a moment must not cost a verdict of minutes; after the lease it would not count."""
    end = time.monotonic() + seconds
    while True:
        try:
            action()
            return
        except SQLAlchemyError as error:
            if time.monotonic() > end:
                _log.error("the database stayed away: %s", error)
                return
            time.sleep(_LOOK_SECONDS)

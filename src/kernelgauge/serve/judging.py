"""The judge's loop: claim, hand to the evaluator, keep the verdict, and hold the leases meanwhile."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from functools import partial

from sqlalchemy.exc import SQLAlchemyError

from kernelgauge.errors import MachineError, UsageError
from kernelgauge.schema import Evaluation
from kernelgauge.serve.claims import Claim, Claims
from kernelgauge.serve.evaluator import Evaluator

_LOOK_SECONDS = 0.5
_RENEWALS = 6
"""In one lease: a database that is away for a while costs no claim."""
_log = logging.getLogger(__name__)


class Judge:
    """Judges submissions until it is told to stop.

    Args:
        judged: told of every claim that ended, and whether its verdict was kept.
    """

    def __init__(
        self, claims: Claims, evaluator: Evaluator, judged: Callable[[Claim, bool], None] = lambda claim, kept: None
    ):
        self._claims, self._evaluator, self._judged = claims, evaluator, judged
        self._under_way: dict[Future[Evaluation], Claim] = {}
        self._renewing = threading.Lock()

    def run(self, stop: threading.Event) -> None:
        """Go on until `stop` is set; what is not done then goes back to the queue, as if it had not been begun."""
        keeper = threading.Thread(target=self._hold, args=(stop,), name="kernelgauge-leases", daemon=True)
        keeper.start()
        try:
            while not stop.is_set():
                self._take()
                if self._under_way:
                    ended, _ = wait(self._under_way, _LOOK_SECONDS, return_when=FIRST_COMPLETED)
                    for future in ended:
                        self._end(future)
                else:
                    stop.wait(_LOOK_SECONDS)
        finally:
            for claim in self._under_way.values():
                _until_it_works(partial(self._claims.give_back, claim, begun=False), self._claims.lease)

    def _take(self) -> None:
        while len(self._under_way) < self._evaluator.ahead:
            try:
                claim = self._claims.take()
            except SQLAlchemyError as error:
                _log.warning("no submission could be claimed: %s", error)
                return
            if claim is None:
                return
            with self._renewing:
                self._under_way[self._evaluator.submit(claim)] = claim

    def _end(self, future: Future[Evaluation]) -> None:
        with self._renewing:
            claim = self._under_way.pop(future)
        _until_it_works(lambda: self._keep(claim, future), self._claims.lease)

    def _keep(self, claim: Claim, future: Future[Evaluation]) -> None:
        try:
            kept = self._claims.end(claim, future.result())
        except UsageError as error:  # the problem's fault, or this machine cannot judge it at all
            kept = self._claims.refuse(claim, str(error))
        except SQLAlchemyError:
            raise
        except (Exception, CancelledError) as error:
            _log.warning("submission %d was not judged: %s", claim.number, error, exc_info=not _expected(error))
            kept = self._claims.give_back(claim, begun=True, reason=f"this machine failed: {error}")
        self._judged(claim, kept)

    def _hold(self, stop: threading.Event) -> None:
        while not stop.wait(self._claims.lease / _RENEWALS):
            with self._renewing:
                held = list(self._under_way.values())
            try:
                self._claims.renew(held)
            except SQLAlchemyError as error:
                _log.warning("leases could not be renewed: %s", error)


def _expected(error: BaseException) -> bool:
    return isinstance(error, MachineError | CancelledError)


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

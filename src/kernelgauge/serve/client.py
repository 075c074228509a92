"""Handing in a candidate from a program; needs nothing that the extra `serve` installs."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from kernelgauge.errors import MachineError, UsageError

_SECONDS = 60.0
_PATIENCE = 5
_LONGEST_ANSWER = 64 << 20


class _Here(HTTPRedirectHandler):
    """Goes nowhere else: a token is for the server that was named, and a candidate would get lost on the way."""

    def redirect_request(self, *_: Any) -> None:
        return None


_opener = build_opener(_Here)


class Client:
    """One server, and the token of one account.

    Args:
        server: its URL.
        token: without it nothing can be handed in, and of verdicts only what everybody may read is said.
    """

    def __init__(self, server: str, token: str = ""):
        self._server, self._token = server.rstrip("/"), token
        try:
            parts = urlsplit(self._server)
            usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:  # a port that is no number
            usable = False
        if not usable:
            raise UsageError(f"{server!r} is not the URL of a server, such as https://kernels.example")

    def hand_in(self, problem: str, source: str, backend: str = "") -> int:
        """The number of the submission. Handing the same in again is harmless.

        Raises:
            UsageError: refused; the server's sentence says why.
            MachineError: no server answers.
        """
        query = urlencode({"problem": problem, "backend": backend})
        answer = self._asked(f"/api/submissions?{query}", source.encode())
        return int(answer["number"])

    def verdict(self, number: int) -> dict[str, Any]:
        """How it stands with a submission, as the server says it. Raises as `hand_in` does."""
        return self._asked(f"/api/submissions/{number}")

    def waited(self, number: int, told: Callable[[str], None] = lambda state: None) -> dict[str, Any]:
        """`verdict`, as soon as there is one, or none will come; a server that is away for a moment is waited for."""
        pause = 0.5
        while True:
            found = self.verdict(number)
            if found["state"] in ("judged", "failed"):
                return found
            told(str(found["state"]))
            time.sleep(pause)
            pause = min(pause * 1.5, 5.0)

    def page(self, number: int) -> str:
        """Where people look."""
        return f"{self._server}/submissions/{number}"

    def _asked(self, path: str, body: bytes | None = None) -> dict[str, Any]:
        headers = {"content-type": "text/x-python"} if body is not None else {}
        headers |= {"authorization": f"Bearer {self._token}"} if self._token else {}
        request = Request(self._server + path, data=body, headers=headers)
        for attempt in range(1, _PATIENCE + 1):
            try:
                with _opener.open(request, timeout=_SECONDS) as answer:
                    return dict(json.loads(answer.read(_LONGEST_ANSWER)))
            except HTTPError as error:
                if 300 <= error.code < 400:
                    raise UsageError(_moved(self._server, error)) from None
                if error.code < 500 or attempt == _PATIENCE:
                    kind = UsageError if error.code < 500 else MachineError
                    raise kind(f"{self._server} said {error.code}: {_sentence(error)}") from None
            except (URLError, HTTPException, TimeoutError, ConnectionError) as error:
                if attempt == _PATIENCE:
                    reason = getattr(error, "reason", error) or type(error).__name__
                    raise MachineError(f"{self._server} does not answer: {reason}") from None
            except (ValueError, TypeError) as error:
                raise MachineError(f"{self._server} answered with something else than JSON") from error
            time.sleep(0.5 * attempt)
        raise AssertionError("unreachable")


def _moved(server: str, error: HTTPError) -> str:
    place = urlsplit(error.headers.get("location", ""))
    said = f"{place.scheme}://{place.netloc}" if place.netloc else "another address"
    return f"{server} sends on to {said}: if that is the server you mean, name it with --server"


def _sentence(error: HTTPError) -> str:
    try:
        return str(json.loads(error.read(10_000))["error"])
    except (ValueError, KeyError, TypeError, OSError, HTTPException):
        return error.reason

"""The web application: pages of the leaderboard, the form, the interface for programs, and what guards them."""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from python_multipart.multipart import parse_options_header
from sqlalchemy import Engine
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, MutableHeaders, UploadFile
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kernelgauge.backends import registry
from kernelgauge.errors import UsageError
from kernelgauge.leaderboard.entries import Published
from kernelgauge.leaderboard.static_site import Link, record_data, render
from kernelgauge.serve.accounts import Account
from kernelgauge.serve.authentication import Authentication
from kernelgauge.serve.batches import BatchAllowance, NoRoom
from kernelgauge.serve.body import LimitedBody
from kernelgauge.serve.intake import accepted
from kernelgauge.serve.judge_api import JudgeDesk
from kernelgauge.serve.live import LiveSite, entry_of
from kernelgauge.serve.metrics import ServerMetrics
from kernelgauge.serve.problem_api import ProblemDesk
from kernelgauge.serve.setting import ServerSetting
from kernelgauge.serve.submissions import Allowance, Submission, Submissions, TooMany

LINKS: Sequence[Link] = (("Submissions", "submissions"), ("Submit", "submit"))
_ROOM = "kernelgauge.serve"
_FOR_PROGRAMS = ("/api/", "/judge", "/metrics")
# Of a form beside the candidate: names, boundaries, the token.
_FORM_BYTES = 16 * 1024
_CHARSETS = (b"utf-8", b"utf8")
_NUMBER = re.compile(r"[0-9]{1,10}")
_LARGEST_NUMBER = 2**31 - 1  # that a column of the database can hold
_TYPES = {"html": "text/html", "json": "application/json", "css": "text/css", "js": "text/javascript"}
_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src data:; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-cache",
}
_log = logging.getLogger(__name__)


def application(
    engine: Engine,
    setting: ServerSetting,
    runs: Sequence[Published] = (),
    allowance: Allowance | None = None,
    batches: BatchAllowance | None = None,
) -> Starlette:
    """The application for one database.

    Args:
        runs: run folders whose records stand on the boards too.
        batches: how much of those who train.
    """
    allowed, allowed_batches = allowance or Allowance(), batches or BatchAllowance()
    authentication = Authentication(engine)
    desk = Desk(engine, authentication, runs, allowed, setting.title)
    policy = setting.protocol.kernel_policy
    judge = JudgeDesk(engine, authentication, allowed_batches, allowed.source_bytes, policy)
    routes = [
        Route("/", desk.page),
        Route("/submit", desk.form, methods=["GET"]),
        Route("/submit", desk.handed_in, methods=["POST"]),
        Route("/submissions", desk.listed),
        Route("/submissions/{number}", desk.submission, methods=["GET"]),
        Route("/submissions/{number}", desk.own, methods=["POST"]),
        Route("/api/submissions", desk.take, methods=["POST"]),
        Route("/api/submissions/{number}", desk.verdict),
        Route("/api/health", desk.health),
        *ProblemDesk(authentication, setting).routes(),
        *judge.routes(),
        Route("/metrics", ServerMetrics(engine).answer),
        Route("/{path:path}", desk.page),
    ]
    guards = [
        Middleware(Guarded),
        Middleware(
            LimitedBody,
            most_bytes=2 * allowed.source_bytes + _FORM_BYTES,
            answer=_answer,
            larger={"/judge": allowed_batches.body_bytes},
        ),
    ]
    handlers: Mapping[Any, Any] = {HTTPException: _failed, UsageError: _failed, TooMany: _failed, Exception: _broken}
    return Starlette(routes=routes, middleware=guards, exception_handlers=handlers)


class Guarded:
    """Middleware: every answer tells the browser to run nothing but our own script, and to send forms only here."""

    def __init__(self, app: ASGIApp):
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        await self._app(scope, receive, guarded)


class Desk:
    """The pages and actions. Whatever waits for the database or makes a page does so on a thread."""

    def __init__(
        self,
        engine: Engine,
        authentication: Authentication,
        runs: Sequence[Published],
        allowance: Allowance,
        judged: str,
    ):
        self.allowance = allowance
        self._account = authentication.account
        self._submissions = Submissions(engine, allowance)
        self._site = LiveSite(self._submissions, runs, LINKS)
        self._judged = judged

    def page(self, request: Request) -> Response:
        """A page of the leaderboard."""
        path = request.path_params.get("path") or "index.html"
        content = self._site.page(path)
        if content is None:
            raise HTTPException(404, "there is no such page")
        return Response(content, media_type=_TYPES[path.rsplit(".", 1)[-1]])

    def form(self, request: Request) -> Response:
        """The form for a candidate."""
        return self._form({"problem": request.query_params.get("problem", "")})

    async def handed_in(self, request: Request) -> Response:
        """What the form sent."""
        fields: dict[str, str] = {}
        try:
            # Each line may end in two bytes that count as one in the end.
            async with _form_of(request, 1, 8, 2 * self.allowance.source_bytes) as form:
                fields = {name: value for name, value in form.items() if isinstance(value, str)}
                file = form.get("file")
                content = await file.read() if isinstance(file, UploadFile) and file.size else b""
            account = await run_in_threadpool(self._account, request, fields.get("token", "").strip())
            # A browser sends the line ends of Windows from a text field, whatever was written there.
            content = content or fields.get("source", "").replace("\r\n", "\n").encode()
            number, _ = await run_in_threadpool(
                self._hand_in, account, fields.get("problem", ""), fields.get("backend", ""), content
            )
        except (UsageError, TooMany, HTTPException) as error:
            return await run_in_threadpool(self._form, fields, _sentence(error), _status(error))
        # Relative: a proxy may serve this below a path of its own.
        return RedirectResponse(f"submissions/{number}", status_code=303)

    async def take(self, request: Request) -> Response:
        """A candidate from a program: the text is the body, the problem is in the query, the token in the header."""
        # Before a byte of the body is read.
        account = await run_in_threadpool(self._account, request)
        content = await request.body()
        query = request.query_params
        number, new = await run_in_threadpool(
            self._hand_in, account, query.get("problem", ""), query.get("backend", ""), content
        )
        place = f"submissions/{number}"  # relative, as for the form
        return JSONResponse({"number": number, "new": new, "url": place}, 201 if new else 200, {"location": place})

    def listed(self, request: Request) -> Response:
        """The newest submissions."""
        rows = self._submissions.recent()
        return self._html("submissions.html.j2", "submissions", rows=rows, counts=self._submissions.counts())

    def submission(self, request: Request) -> Response:
        """One submission with its verdict, as soon as there is one, as anybody may read it."""
        return self._submission(self._found(request))

    async def own(self, request: Request) -> Response:
        """The same with log and reasons, for the account whose token the form has sent."""
        async with _form_of(request, 0, 1, _FORM_BYTES) as form:
            token = str(form.get("token", "")).strip()
        return await run_in_threadpool(self._own, request, token)

    def verdict(self, request: Request) -> Response:
        """One submission, for a program; with log and reasons where its account's token comes along."""
        found = self._found(request)
        words = "authorization" in request.headers and self._account(request).name == found.account
        return JSONResponse(found.summary(words))

    def health(self, request: Request) -> Response:
        """Whether the database answers, and how much waits."""
        return JSONResponse(dict(self._submissions.counts()))

    def _own(self, request: Request, token: str) -> Response:
        found = self._found(request)
        try:
            if self._account(request, token).name == found.account:
                return self._submission(found, words=True)
            complaint, status = f"that is not the token of {found.account}", 403
        except HTTPException as error:
            complaint, status = error.detail, error.status_code
        return self._submission(found, complaint=complaint, status=status)

    def _submission(self, found: Submission, words: bool = False, complaint: str = "", status: int = 200) -> Response:
        entry = entry_of(found, words) if found.record else None
        data = record_data(entry)["data"] if entry else {}
        values = {"found": found, "entry": entry, "data": data, "words": words, "complaint": complaint}
        return self._html("submission.html.j2", f"submissions/{found.number}", status, **values)

    def _found(self, request: Request) -> Submission:
        said = request.path_params["number"]
        number = int(said) if _NUMBER.fullmatch(said) else _LARGEST_NUMBER + 1
        found = self._submissions.get(number) if number <= _LARGEST_NUMBER else None
        if found is None:
            raise HTTPException(404, "there is no such submission")
        return found

    def _hand_in(self, account: Account, problem: str, backend: str, content: bytes) -> tuple[int, bool]:
        found = accepted(problem, backend, content, self.allowance.source_bytes)
        return self._submissions.hand_in(account, found.problem, found.source, found.backend)

    def _form(self, fields: Mapping[str, str], complaint: str = "", status: int = 200) -> Response:
        # What was written stays in the page, but never the token.
        values = {name: fields.get(name, "") for name in ("source", "backend")}
        values |= {"problem": fields.get("problem", "")[:160], "complaint": complaint, "judged": self._judged}
        known = registry.names()
        return self._html("submit.html.j2", "submit", status, allowance=self.allowance, backends=known, **values)

    def _html(self, template: str, path: str, status: int = 200, **values: Any) -> Response:
        return HTMLResponse(_rendered(template, path, **values), status)


@asynccontextmanager
async def _form_of(request: Request, files: int, fields: int, part_bytes: int) -> AsyncIterator[FormData]:
    """The form that was sent, with so many files and fields at most.

    Starlette decodes a form on the event loop, with whatever codec the sender names: some take seconds for what may
    be sent, and everybody else waits. So what names another than browsers do is refused before it is read. Told by
    the parser that Starlette asks too, so that both understand the same; what parts of a form say it ignores.
    """
    _, options = parse_options_header(request.headers.get("content-type"))
    if options.get(b"charset", b"utf-8").lower() not in _CHARSETS:
        raise HTTPException(415, "a form is read as UTF-8, and the content type of this one names another charset")
    try:
        async with request.form(max_files=files, max_fields=fields, max_part_size=part_bytes) as form:
            yield form
    except UnicodeError:
        raise HTTPException(422, "the form is not text in UTF-8") from None


def _rendered(template: str, path: str, **values: Any) -> str:
    return render(template, path, links=LINKS, live=True, room=_ROOM, moment=_moment, **values)


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _sentence(error: Exception) -> str:
    return error.detail if isinstance(error, HTTPException) else str(error)


def _status(error: Exception) -> int:
    if isinstance(error, HTTPException):
        return error.status_code
    return 429 if isinstance(error, TooMany) else 422


def _answer(request: Request, status: int, sentence: str) -> Response:
    if request.url.path.startswith(_FOR_PROGRAMS):
        return JSONResponse({"error": sentence}, status)
    path = request.url.path.lstrip("/")
    return HTMLResponse(_rendered("error.html.j2", path, status=status, sentence=sentence), status)


def _failed(request: Request, error: Exception) -> Response:
    answer = _answer(request, _status(error), _sentence(error))
    if isinstance(error, NoRoom):
        answer.headers["retry-after"] = str(error.retry_after)
    elif isinstance(error, HTTPException):
        answer.headers.update(error.headers or {})
    return answer


def _broken(request: Request, error: Exception) -> Response:
    _log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    answer = _answer(request, 500, "this server failed; nothing that was handed in is lost")
    answer.headers.update(_HEADERS)  # it passes the guards by
    return answer

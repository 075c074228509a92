"""`GET /judge/problems` and `GET /judge/prompt`: what those who train may ask a policy, and in which words."""

from __future__ import annotations

from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from kernelgauge.backends.registry import backend_named
from kernelgauge.errors import ProblemError, UsageError
from kernelgauge.generation.prompts.prompt import Asked, Prompts, backend_for
from kernelgauge.problems import catalogue
from kernelgauge.problems.loader import load_problem, sizes_within
from kernelgauge.problems.verified import accepted_on_record
from kernelgauge.schema import Problem
from kernelgauge.serve.authentication import Authentication
from kernelgauge.serve.intake import key_of, known_backend
from kernelgauge.serve.setting import ServerSetting


class ProblemDesk:
    """The routes of problems, as this server judges them. Whatever reads files or the database is on a thread."""

    def __init__(self, authentication: Authentication, setting: ServerSetting):
        self._authentication, self._setting = authentication, setting

    def routes(self) -> list[Route]:
        """Where they are: before `/judge/{number}`, which would take them for batches."""
        return [Route("/judge/problems", self.listed), Route("/judge/prompt", self.prompt)]

    async def listed(self, request: Request) -> Response:
        """All problems of a suite; without `suite`, of the built-in one."""
        await run_in_threadpool(self._authentication.trainer, request)
        return JSONResponse(await run_in_threadpool(self._listed, request.query_params.get("suite")))

    async def prompt(self, request: Request) -> Response:
        """What `kernelgauge prompt` prints about a problem under this server's setting."""
        await run_in_threadpool(self._authentication.trainer, request)
        query = request.query_params
        return JSONResponse(await run_in_threadpool(self._prompt, query.get("problem", ""), query.get("backend", "")))

    def _listed(self, suite: str | None) -> dict[str, Any]:
        try:
            rows = [self._row(entry) for entry in catalogue.suite_named(suite).entries.values()]
        except ProblemError as error:
            raise UsageError(str(error)) from None
        return {"problems": rows}

    def _row(self, entry: catalogue.Entry) -> dict[str, Any]:
        accepted = accepted_on_record(self._loaded(entry.key), self._setting.protocol)
        return {"problem": entry.key, "name": entry.name, "level": entry.level, "counts": not accepted}

    def _prompt(self, name: str, backend: str) -> dict[str, Any]:
        known_backend(backend)
        setting, key = self._setting, key_of(name.strip())
        language = backend or backend_for(setting.device)
        if setting.device.partition(":")[0] not in backend_named(language).devices:
            raise UsageError(
                f"this server judges on {setting.device}, where nothing runs that is written for {language}"
            )
        asked = Asked(backend=language, protocol=setting.protocol, device=setting.device)
        text = Prompts(asked).problem(self._loaded(key))
        return {"problem": key, "backend": language, "prompt": text}

    def _loaded(self, key: str) -> Problem:
        return load_problem(key, sizes=sizes_within(key, self._setting.sizes))

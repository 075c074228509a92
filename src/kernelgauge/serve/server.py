"""A server on this machine: the web application in this process, each judge in one of its own, kept alive."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Sequence

import uvicorn
from starlette.applications import Starlette

from kernelgauge.errors import MachineError
from kernelgauge.execution.kept_alive import KeptAlive

_GRACE_SECONDS = 60.0
_MOST_CONNECTIONS = 1000
# For answers under way when the server ends: a stream would go on until its batch is judged. Its reader comes again.
_STREAM_GRACE_SECONDS = 3


class JudgePool(KeptAlive):
    """Processes that judge. They are not threads here, so that no page that is made disturbs a clock.

    Args:
        command: begins one.
        environment: theirs; the database's address is in it, where no list of processes shows it.
    """

    def __init__(self, command: Sequence[str], environment: dict[str, str], count: int):
        self._command, self._environment = list(command), environment
        super().__init__(count)

    def lived(self) -> str:
        """See `KeptAlive.lived`."""
        try:
            judge = subprocess.Popen(self._command, env=self._environment, stdin=subprocess.DEVNULL)
        except OSError as error:  # no memory, or no process left: there may be some later
            return f"could not be begun: {error}"
        while judge.poll() is None and not self.stop.wait(0.2):
            pass
        if judge.poll() is None:
            judge.terminate()
            try:
                judge.wait(_GRACE_SECONDS)
            except subprocess.TimeoutExpired:
                judge.kill()
                judge.wait()
        return f"has ended with {judge.returncode}"


def listening(host: str, port: int) -> socket.socket:
    """A socket for `served`, taken before anything else is done for a server. Raises MachineError."""
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise MachineError(f"no server could listen on {host}:{port}: {error.strerror or error}") from None


def address(listener: socket.socket) -> str:
    """Where it is reached, with the port that it was given where none was asked for."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def served(application: Starlette) -> uvicorn.Server:
    """A web server for the application; `run` it with a socket."""
    return uvicorn.Server(
        uvicorn.Config(
            application,
            log_level="warning",
            access_log=False,
            server_header=False,
            limit_concurrency=_MOST_CONNECTIONS,
            timeout_keep_alive=10,
            timeout_graceful_shutdown=_STREAM_GRACE_SECONDS,
        )
    )

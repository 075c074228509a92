"""The judges of a server on a cluster: each is `kernelgauge judge` on a node of its own choice, over one database.

What a judge holds when its node dies, another takes when its lease has run out: the database knows, and Ray need not.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from contextlib import suppress

import ray
from ray.exceptions import GetTimeoutError, RayError

from kernelgauge.cluster.fleet import JUDGE
from kernelgauge.cluster.options import ClusterOptions
from kernelgauge.execution.kept_alive import KeptAlive

_GRACE_SECONDS = 60.0
_LOOK_SECONDS = 0.5


class ServingActor:
    """Has one GPU, or the CPU of a node, and keeps a process that judges there."""

    def __init__(self) -> None:
        self._judge: subprocess.Popen[bytes] | None = None

    def judge(self, command: Sequence[str], secrets: dict[str, str]) -> str:
        """Judge until told to stop; returns in words how that ended.

        Args:
            command: after the interpreter's name, which is this node's.
            secrets: variables for the process alone: the database's address is in them, and in no list of processes.
        """
        import sys

        whole = [sys.executable, *command, "--parent", str(os.getpid())]
        variables = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"} | secrets
        self._judge = subprocess.Popen(whole, env=variables, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        _, said = self._judge.communicate()
        last = said.decode(errors="replace").strip().splitlines()[-1:]
        return f"ended with {self._judge.returncode}: {' '.join(last)}"

    def stop(self) -> None:
        """Have it give back what it has not judged."""
        if self._judge is not None:
            self._judge.terminate()


class ServingPool(KeptAlive):
    """So many judges on a cluster, each begun again on whichever node there is when it has ended.

    Args:
        command: begins one, without the interpreter.
        device: `cpu` or `cuda`.
    """

    def __init__(
        self, options: ClusterOptions, device: str, command: Sequence[str], secrets: dict[str, str], count: int
    ):
        self._command, self._secrets = list(command), secrets
        self._wants = _resources(options, device)
        super().__init__(count)

    def lived(self) -> str:
        """See `KeptAlive.lived`."""
        actor = ray.remote(ServingActor).options(**self._wants, max_concurrency=2).remote()
        try:
            ended = actor.judge.remote(self._command, self._secrets)
            while not self.stop.is_set():
                with suppress(GetTimeoutError):
                    return str(ray.get(ended, timeout=_LOOK_SECONDS))
            with suppress(RayError):  # nothing has begun where it still waits for its node
                ray.get(actor.stop.remote(), timeout=_LOOK_SECONDS)
                ray.get(ended, timeout=_GRACE_SECONDS)
            return "was told to end"
        except RayError as error:
            return f"was lost with its node: {type(error).__name__}"
        finally:
            with suppress(RayError):
                ray.kill(actor)


def _resources(options: ClusterOptions, device: str) -> dict[str, object]:
    if device == "cpu":
        return {"num_cpus": 0, "resources": {JUDGE: 1}}
    kind = {"accelerator_type": options.model} if options.model else {}
    return {"num_cpus": 1, "num_gpus": 1, **kind}

"""Building a candidate in a sealed process: compiling runs its code too."""

from __future__ import annotations

from pathlib import Path

from kernelgauge.backends.registry import backend_named
from kernelgauge.errors import MachineError
from kernelgauge.evaluation.process import ProtocolBroken, WorkerEnded, WorkerProcess, WorkerTimedOut, Zygote
from kernelgauge.evaluation.side import Failure, last_line
from kernelgauge.schema import Candidate, Outcome

_LOG_TAIL = 12_000


def build_candidate(zygote: Zygote, candidate: Candidate, device: str, staging: Path) -> str:
    """Build into `staging` and return what the compiler printed.

    Raises:
        Failure: `build_failed` with the compiler's error, `load_failed` if the file itself is broken,
            `timed_out`, `out_of_memory`.
        MachineError: the build process was killed from outside.
    """
    backend = backend_named(candidate.backend)
    environment = backend.environment(device, Path("{scratch}")) | {
        "TORCHINDUCTOR_CACHE_DIR": str(staging / "inductor"),
    }
    limit = zygote.settings.limits.build_seconds
    preload = backend.preload(candidate.source, device)
    with WorkerProcess(zygote, "worker", device, environment, writable=(staging,), preload=preload) as process:
        path = process.scratch / "candidate.py"
        path.write_text(candidate.source)
        try:
            claim = process.ask(
                "build", limit, "loaded", path=str(path), backend=candidate.backend, build_dir=str(staging)
            )
        except WorkerTimedOut as error:
            raise Failure(Outcome.TIMED_OUT, f"build: not finished within {limit:g} s") from error
        except ProtocolBroken as error:
            raise Failure(Outcome.REJECTED, f"build: forged message: {error}", "forged_message") from error
        except WorkerEnded as error:
            if error.status == -9:
                raise MachineError("a build process was killed from outside") from error
            reason = f"build: the process ended with status {error.status}"
            raise Failure(Outcome.BUILD_FAILED, reason) from error
        log = process.log()[-_LOG_TAIL:]
    if claim.event == "failed":
        raise _explain(claim.kind, claim.message)
    return log


def _explain(kind: str, message: str) -> Failure:
    if kind == "OutOfMemory":
        return Failure(Outcome.OUT_OF_MEMORY, f"build: {last_line(message)}")
    errors = [line.strip() for line in message.splitlines() if "error:" in line or ": error" in line]
    compiler = errors or "Error building extension" in message or kind in ("CppCompileError", "CompileError")
    if compiler:
        shown = errors[0] if errors else last_line(message)
        return Failure(Outcome.BUILD_FAILED, f"build: {shown[:500]}")
    return Failure(Outcome.LOAD_FAILED, f"load: {last_line(message)}")

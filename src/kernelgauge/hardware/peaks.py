"""Which peaks hold for a device: those measured on this machine, or those published for its GPU.

Measured ones lie in the cache folder under the environment's fingerprint, so another driver or PyTorch asks for a new
measurement. GPUs of one machine are taken to be alike.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from kernelgauge.errors import MachineError, UsageError
from kernelgauge.hardware.environment import visible_devices
from kernelgauge.schema import Environment, Peaks

_SECONDS = 300.0


def known(folder: Path, environment: Environment, device: str) -> Peaks | None:
    """The peaks of a device (`cpu`, `cuda`, `cuda:1`): measured, else published, else None.

    Args:
        folder: the cache folder.
    """
    return stored(folder, environment, device) or (published(environment.gpu) if _kind(device) == "cuda" else None)


def stored(folder: Path, environment: Environment, device: str) -> Peaks | None:
    """What `measure` found here; None if it was not asked. Raises MachineError if its record is damaged."""
    path = _path(folder, environment, device)
    if not path.is_file():
        return None
    try:
        return Peaks.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise MachineError(f"{path} is damaged: delete it and run `kernelgauge doctor --measure`") from error


def read(file: Path) -> Peaks:
    """What `kernelgauge doctor --measure --json` printed, here or elsewhere. Raises UsageError if it is not that."""
    try:
        return Peaks.model_validate_json(file.read_bytes())
    except OSError as error:
        raise UsageError(f"no peaks in {file}: {error.strerror}") from error
    except ValidationError as error:
        raise UsageError(f"{file} is not what `kernelgauge doctor --measure --json` prints") from error


def measure(folder: Path, environment: Environment, device: str) -> Peaks:
    """Measure a device in a process of its own, and keep the record; nothing else should use the device meanwhile.

    Raises:
        MachineError: the process failed or took longer than five minutes.
    """
    command = [sys.executable, "-m", "kernelgauge.hardware.microbenchmarks", _kind(device)]
    variables = {**os.environ, "OMP_NUM_THREADS": str(environment.threads)}
    if _kind(device) == "cuda":
        variables["CUDA_VISIBLE_DEVICES"] = visible_devices(device)
    try:
        done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=_SECONDS)
    except subprocess.TimeoutExpired as error:
        raise MachineError(f"measuring the peaks of {device} took longer than {_SECONDS:.0f} s") from error
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or [f"exit status {done.returncode}"]
        raise MachineError(f"the peaks of {device} cannot be measured: {last[0]}")
    found = Peaks.model_validate_json(done.stdout.splitlines()[-1])
    path = _path(folder, environment, device)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(f".{os.getpid()}")
    partial.write_text(found.model_dump_json())
    partial.rename(path)
    return found


def published(gpu: str | None) -> Peaks | None:
    """The data sheet's ceilings for a GPU by the name its driver gives it (`gpus.json`); None if it has no entry."""
    row = next((row for row in _gpus() if gpu in row["names"]), None)
    if gpu is None or row is None:
        return None
    return Peaks(
        device="cuda",
        name=gpu,
        source="published",
        read_gbs=row["gbs"],
        copy_gbs=row["gbs"],
        ceiling_gbs=row["gbs"],
        flops={name: rate * 1e12 for name, rate in row["tflops"].items()},
        cache_bytes=row["cache_mib"] * 2**20,
        note=row["source"],
    )


def _kind(device: str) -> str:
    return device.partition(":")[0]


def _path(folder: Path, environment: Environment, device: str) -> Path:
    return folder / "peaks" / f"{environment.digest}-{_kind(device)}.json"


@cache
def _gpus() -> list[dict[str, Any]]:
    return list(json.loads(resources.files(__package__).joinpath("gpus.json").read_text())["gpus"])

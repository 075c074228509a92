"""What this machine is: the environment fingerprint that travels with each figure."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from functools import cache
from importlib import metadata
from pathlib import Path

from kernelgauge import __version__
from kernelgauge.errors import DeviceMissing
from kernelgauge.schema import Environment


def package_version(name: str) -> str | None:
    """Installed version of a distribution without importing it; None if it is not installed."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


@cache
def first_line(*command: str) -> str | None:
    """First line a command prints; None if it is missing or fails."""
    if shutil.which(command[0]) is None:
        return None
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip().splitlines()[0] if done.stdout.strip() else None


@cache
def cuda_compiler() -> str | None:
    """Release line of nvcc; None if there is no nvcc on the path or under CUDA_HOME."""
    return release_of(
        shutil.which("nvcc") or str(Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")) / "bin" / "nvcc")
    )


@cache
def release_of(nvcc: str) -> str | None:
    """Release line of the CUDA compiler at that path; None if it is missing or fails."""
    try:
        done = subprocess.run([nvcc, "--version"], capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    release = [line for line in done.stdout.splitlines() if "release" in line]
    return release[0].split("release", 1)[1].strip() if release else done.stdout.strip()


@cache
def gpu() -> tuple[str, str] | None:
    """Name and driver version of the first NVIDIA GPU; None if there is none."""
    line = first_line("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader")
    if not line or "," not in line:
        return None
    name, driver = line.rsplit(",", 1)
    return name.strip(), driver.strip()


def missing_device(device: str) -> str | None:
    """Why nothing can run on `device` here, in a sentence; None if something can."""
    if device == "cpu":
        return None
    if gpu() is None:
        return "no NVIDIA GPU is visible here: nvidia-smi lists none"
    if gpu_count() == 0:
        return "no NVIDIA GPU is visible here: CUDA_VISIBLE_DEVICES hides them"
    if device_index(device) >= gpu_count():
        return f"there is no {device} here: the last of {gpu_count()} visible GPUs is cuda:{gpu_count() - 1}"
    torch = package_version("torch") or ""
    if torch.endswith("+cpu"):
        return f"PyTorch {torch} is built without CUDA: install one that is built with it"
    return None


def require_device(device: str) -> None:
    """Raises DeviceMissing where nothing can run on `device`."""
    if reason := missing_device(device):
        raise DeviceMissing(reason)


def best_device() -> str:
    """`cuda` where that can be used, else `cpu`."""
    return "cpu" if missing_device("cuda") else "cuda"


def device_index(device: str) -> int:
    """Number of a GPU among those visible to this process: 1 for `cuda:1`, 0 for `cuda`."""
    return int(device.partition(":")[2] or 0)


def visible_devices(device: str) -> str:
    """`CUDA_VISIBLE_DEVICES` for a process that is to see this GPU alone."""
    visible = [part for part in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if part]
    index = device_index(device)
    return visible[index] if index < len(visible) else str(index)


@cache
def gpu_count() -> int:
    """Number of NVIDIA GPUs visible to this process; 0 without nvidia-smi."""
    listed = os.environ.get("CUDA_VISIBLE_DEVICES")
    if gpu() is None or listed == "":
        return 0
    if listed is not None:
        numbers = listed.split(",")
        return numbers.index("-1") if "-1" in numbers else len(numbers)  # which hides all from there on
    return len(host_gpus())


@cache
def host_gpus() -> tuple[str, ...]:
    """UUIDs of all NVIDIA GPUs that nvidia-smi lists, in its order, whichever of them this process sees."""
    if gpu() is None:
        return ()
    ask = ["nvidia-smi", "--query-gpu=uuid", "--format=csv,noheader"]
    try:
        done = subprocess.run(ask, capture_output=True, text=True, timeout=20)
    except subprocess.TimeoutExpired:
        return ()
    return tuple(line.strip() for line in done.stdout.splitlines())


def host_index(device: str) -> int:
    """Number of a GPU among all of the machine: processes that see different GPUs agree on it."""
    named = visible_devices(device).strip()
    if named.isdigit():
        return int(named)
    return next((n for n, uuid in enumerate(host_gpus()) if uuid.startswith(named)), device_index(device))


def cpu_model() -> str:
    """The processor as it calls itself."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def memory_bytes() -> int:
    """Physical memory of the machine in bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def environment(threads: int) -> Environment:
    """Fingerprint of this machine and installation; does not import torch."""
    card = gpu()
    return Environment(
        kernelgauge=__version__,
        python=platform.python_version(),
        torch=package_version("torch") or "not installed",
        triton=package_version("triton"),
        compiler=first_line("g++", "--version"),
        cuda=cuda_compiler(),
        platform=f"{platform.system()} {platform.release()} {platform.machine()}",
        cpu=cpu_model(),
        cores=len(os.sched_getaffinity(0)),
        threads=threads,
        memory_gb=round(memory_bytes() / 2**30, 1),
        gpu=card[0] if card else None,
        driver=card[1] if card else None,
    )

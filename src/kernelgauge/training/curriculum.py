"""Problems in an order to learn in: by headroom, how many times faster than eager the hardware allows.

Where there is much headroom a policy finds a speedup soon; where there is next to none it learns nothing but to be
right. So the most comes first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from kernelgauge.errors import KernelgaugeError, UsageError
from kernelgauge.problems.loader import load_problem
from kernelgauge.schema import Evaluation
from kernelgauge.store.run import Run


def measured_headroom(folder: Path, keys: Sequence[str]) -> dict[str, float]:
    """The headroom of each of these problems that has one in a run, such as one of `kernelgauge baseline`.

    A problem lacks one if it has not passed there, has no bound, or has another text since.

    Args:
        folder: of the run.
        keys: the problems that are asked for.

    Raises:
        UsageError: there is no run, or none of these problems has a headroom in it; the sentence says what makes one.
        StoreError: a file of the run is damaged.
    """
    if not (folder / "run.json").is_file():
        raise UsageError(f"there is no baseline in {folder}: {_command(keys, folder)} measures one")
    run = Run.read(folder)
    found = {key: each for key, each in headrooms(run.latest()).items() if key in set(keys)}
    if found:
        return found
    if run.latest() and not any(record.bound for record in run.latest()):
        raise UsageError(
            f"the records of {folder} have no bound: `kernelgauge doctor --measure --device "
            f"{run.header.device.partition(':')[0]}`, then {_command(keys)}, in a new folder"
        )
    raise UsageError(f"no problem of those asked for has a headroom in {folder}: {_command(keys)} measures it")


def headrooms(records: Iterable[Evaluation]) -> dict[str, float]:
    """Reference time over bound of each problem in its first mode that has both, which is eager where that passed.

    Records of a text that the problem no longer has are left out.
    """
    found: dict[str, float] = {}
    for record in sorted(records, key=lambda record: record.sample):
        if record.bound and record.problem not in found and _is_its_text(record):
            found[record.problem] = record.bound.headroom
    return found


def stages(headroom: Mapping[str, float], count: int) -> dict[str, int]:
    """Each problem's stage, from 0 with the most headroom, in the order of the curriculum; stages are equally large.

    Args:
        count: of stages, at least 1; more than there are problems leaves some empty.
    """
    ordered = sorted(headroom, key=lambda key: -headroom[key])
    return {key: place * count // len(ordered) for place, key in enumerate(ordered)}


def _is_its_text(record: Evaluation) -> bool:
    try:
        return load_problem(record.problem, sizes=record.sizes).digest == record.problem_digest
    except KernelgaugeError:
        return False


def _command(keys: Sequence[str], folder: Path = Path("FOLDER")) -> str:
    suites = {key.partition(":")[0] for key in keys if ":" in key}
    which = f" --suite {suites.pop()}" if len(suites) == 1 else ""
    return f"`kernelgauge baseline{which} --modes eager --out {folder}`"

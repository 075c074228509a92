"""A model made faster: cut into problems, answered by a contestant, judged, packaged, measured before and after."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import Field

from kernelgauge.config import MathMode, Protocol
from kernelgauge.errors import MachineError, UsageError
from kernelgauge.generation.contestant import Contestant
from kernelgauge.judging import running_device
from kernelgauge.packaging.asking import asked_of
from kernelgauge.packaging.contents import Contents
from kernelgauge.packaging.cuts import StoredCuts
from kernelgauge.packaging.named_folder import NamedFolder
from kernelgauge.packaging.names import DEFAULT, check_package_name
from kernelgauge.packaging.package import UNSTATED, NothingToPackage, package
from kernelgauge.packaging.winners import LeftOut
from kernelgauge.packaging.writing import check_free, remove_package
from kernelgauge.problems import own_file
from kernelgauge.schema import Record, Standing, standing_of
from kernelgauge.session.contest import Watch
from kernelgauge.session.run import judge_run, planned
from kernelgauge.store.disk import guarded, make_folder, write_whole
from kernelgauge.store.run import Run
from kernelgauge.timing.ratio import paired

_CUTTING = "kernelgauge.packaging.cutting"
_MEASURING = "kernelgauge.packaging.measuring"
_RESULT = "optimized.json"
_CONFIDENCE = 0.95


class Cut(Record):
    """A problem that was cut out of a model."""

    name: str
    problem: str
    """Path of its file."""
    modules: tuple[str, ...]
    """Where in the model it is."""
    share: float
    """Of the model's time."""
    speedup: float | None = None
    """Of the kernel that was packaged for it, as it was judged; None where there is none."""
    interval: tuple[float, float] | None = None
    """Of that speedup."""
    reason: str = ""
    """Why there is none."""


class Optimized(Record):
    """What `optimize` found: the model before and after, and what became of each part."""

    model: str
    device: str
    contestant: str
    package: str | None
    """Folder of the package; None where no kernel won, or none of them helps the model."""
    before_ms: float | None = None
    """Median; None, as all that follows, where no kernel won. Where kernels won and none of them helps the model, the
    figures are those of all of them."""
    after_ms: float | None = None
    speedup: float | None = None
    interval: tuple[float, float] | None = None
    standing: Standing | None = None
    """What the interval says of the model with the package."""
    confidence: float = _CONFIDENCE
    pairs: int = 0
    error: float | None = None
    """Root mean square of the difference of both answers, relative to the answer."""
    math: str = ""
    """Arithmetic under which the kernels were judged."""
    arithmetic: dict[str, str] = Field(default_factory=dict)
    """Of `products` and `convolutions` of the model in PyTorch where it was measured: `ieee` or `tf32`."""
    swaps: tuple[dict[str, str], ...] = ()
    counters: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """By operator, calls of the measurement that a kernel answered (`hits`), and those of PyTorch (`misses`)."""
    not_used: dict[str, str] = Field(default_factory=dict)
    """By operator, why a kernel of the package was not used in the model."""
    warnings: tuple[str, ...] = ()
    """Of the package, where it was measured."""
    cuts: tuple[Cut, ...]
    skipped: tuple[dict[str, str], ...]
    """Modules of which no problem was made, and why."""


def optimize(
    model: str | Path,
    out: str | Path,
    *,
    contestant: str | Contestant = "inductor",
    name: str = DEFAULT,
    device: str | None = None,
    protocol: str | Protocol = "strict",
    math: MathMode | None = None,
    most: int = 60,
    limit: int = 8,
    single_calls: bool = False,
    pairs: int = 15,
    licence: str = UNSTATED,
    replace: bool = False,
    watch: Watch | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Optimized:
    """Cut a model into problems, judge what a contestant gives for them, package the winners, and measure the model.

    Args:
        model: a file in a problem's form: `Model`, `get_inputs`, `get_init_inputs`.
        out: folder for the problems, the run and the package. The same call goes on where one was interrupted.
        contestant: who answers, as `run` takes it; the files of a `folder:DIR` are named after the problems.
        math: arithmetic of the judgements and of the model, `ieee` or `tf32`; by default the protocol's for the one
            and what PyTorch or the model itself sets for the other.
        most: calls of ATen in a problem; of modules within each other, the outermost that has no more is one.
        limit: problems, those with the most of the model's time first.
        single_calls: also modules that are one call of PyTorch, such as linear layers: a compiler has nothing to gain
            there, a kernel written by hand may have.
        pairs: runs of the model with the package and without.

    Raises:
        UsageError: the file is no model, its code fails, it has no part that can be a problem, or an arithmetic in
            which no float32 model computes.
        DeviceMissing: this machine has no such device.
        StoreError: `out` cannot be used.
        MachineError: the machine failed; the same call goes on.
    """
    path, out = Path(model), Path(out)
    check_package_name(name)
    if math not in (None, "ieee", "tf32"):
        raise UsageError(f"a model of float32 is measured in ieee or tf32, not in {math}")
    source = own_file.read(path)
    where = running_device(device)
    asked = {"path": str(path.absolute()), "device": where, "most": most, "limit": limit, "single": single_calls}
    cut = StoredCuts(out / "cuts.json", source, asked)
    found = cut.found
    # A package without its measurement is what an interrupted call has left: it is written anew.
    replace = replace or (found is not None and not (out / _RESULT).exists())
    check_free(out, name, replace)
    if found is None:
        tell("cutting the model into problems")
        found = asked_of(_CUTTING, asked, str(path), where)
        cut.keep(found)
    if not found["cuts"]:
        raise UsageError(f"{path}: no part of it can be a problem{_why(found['skipped'])}")
    cuts = [_written(out / "problems", each) for each in found["cuts"]]
    who = _contestant(contestant)
    with guarded(out):
        (out / _RESULT).unlink(missing_ok=True)
    plan = planned(who, problems=[cut.problem for cut in cuts], device=where, protocol=protocol, math=math)
    tell(f"judging {plan.contestant.name} on {len(cuts)} problems")
    with plan.opened(out / "run") as store:
        failed = judge_run(plan.contestant, store, plan.header.problems, plan.protocol, watch=watch)
    if machine := [done for done in failed if isinstance(done.result, MachineError)]:
        raise MachineError(f"{len(machine)} problems were not judged; the same command tries them again")
    reasons = {done.task.problem: str(done.result) for done in failed}
    contents, left = _packaged(out, name, licence, replace, {})
    measured = None
    if contents is not None:
        tell("measuring the model with the package and without")
        asked = {"path": str(path.absolute()), "device": where, "folder": str(out.absolute()), "name": name}
        asked |= {"pairs": pairs, "math": math}
        measured = asked_of(_MEASURING, {**asked, "screen": True}, str(path), where)
        if hinders := _by_problem(contents, measured["hinders"]):
            contents, left = _packaged(out, name, licence, True, hinders)
            if contents is not None:
                tell(f"measuring again without {len(hinders)} that do not help the model")
                measured = asked_of(_MEASURING, {**asked, "screen": False}, str(path), where)
    about = {"model": str(path), "device": where, "contestant": plan.contestant.name, "math": plan.header.math}
    made = _optimized(about, out, measured, contents)
    told = _told(out, cuts, contents, left, reasons)
    done = made.model_copy(update={"cuts": told, "skipped": tuple(found["skipped"])})
    write_whole(out / _RESULT, done.model_dump_json(indent=1).encode() + b"\n")
    return done


def _contestant(named: str | Contestant) -> str | Contestant:
    kind, _, folder = named.partition(":") if isinstance(named, str) else ("", "", "")
    return NamedFolder(Path(folder)) if kind == "folder" else named


def _packaged(
    out: Path, name: str, licence: str, replace: bool, without: dict[str, str]
) -> tuple[Contents | None, tuple[LeftOut, ...]]:
    """The package of the run's winners; None if there are none, with who was left out in either case."""
    try:
        contents = package([out / "run"], out, name=name, licence=licence, without=without, replace=replace).contents
    except NothingToPackage as nothing:
        if (out / name).exists():
            remove_package(out, name)
        return None, tuple(nothing.left)
    return contents, contents.left_out


def _by_problem(contents: Contents, hinders: dict[str, str]) -> dict[str, str]:
    """Why the winners of these problems are left out; `hinders` names the package's operators."""
    problems = {each.name: each.variants[0].provenance.problem for each in contents.operators}
    return {problems[name]: reason for name, reason in hinders.items()}


def _optimized(
    about: dict[str, Any], out: Path, measured: dict[str, Any] | None, contents: Contents | None
) -> Optimized:
    """What was measured; of kernels that all went out, too, what they did."""
    given: dict[str, Any] = {"package": str(out / contents.name) if contents else None}
    if measured is not None:
        before, after = measured["before_ms"], measured["after_ms"]
        ratio = paired(before, after, _CONFIDENCE)
        given |= {
            "before_ms": _median(before),
            "after_ms": _median(after),
            "speedup": ratio.estimate,
            "interval": (ratio.low, ratio.high),
            "standing": standing_of((ratio.low, ratio.high)),
            "pairs": len(before),
        }
        given |= {key: measured[key] for key in ("error", "arithmetic", "counters", "not_used")}
        given |= {key: tuple(measured[key]) for key in ("swaps", "warnings")}
    return Optimized(**about, **given, cuts=(), skipped=())


def _told(
    out: Path,
    cuts: list[Cut],
    contents: Contents | None,
    left: tuple[LeftOut, ...],
    reasons: dict[str, str],
) -> tuple[Cut, ...]:
    """The cuts with what became of each."""
    operators = contents.operators if contents else ()
    won = {each.variants[0].provenance.problem: each.variants[0].provenance for each in operators}
    with Run.open(out / "run") as run:
        why = {skip.problem: f"no candidate: {skip.reason}" for skip in run.skips()}
    why |= {each.problem: each.reason for each in left} | reasons
    return tuple(
        cut.model_copy(
            update={
                **({"speedup": p.speedup, "interval": p.interval} if (p := won.get(cut.problem)) else {}),
                "reason": "" if cut.problem in won else " ".join(why.get(cut.problem, "not judged").split())[:400],
            }
        )
        for cut in cuts
    )


def _written(folder: Path, cut: dict[str, Any]) -> Cut:
    make_folder(folder)
    path = folder / f"{cut['name']}.py"
    write_whole(path, cut["source"].encode())
    return Cut(name=cut["name"], problem=str(path), modules=tuple(cut["modules"]), share=cut["share"])


def _median(samples: list[float]) -> float:
    return sorted(samples)[len(samples) // 2]


def _why(skipped: list[dict[str, str]]) -> str:
    return ": " + "; ".join(f"{each['module']} {each['reason']}" for each in skipped[:3]) if skipped else ""

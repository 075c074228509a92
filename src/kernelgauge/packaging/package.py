"""Run folders in, an installable package of their winners out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kernelgauge import __version__
from kernelgauge.config import Protocol, load_protocol
from kernelgauge.errors import ProblemError, UsageError
from kernelgauge.hardware.environment import first_line
from kernelgauge.kernels.toolkit import architecture
from kernelgauge.packaging.calls import Call, call_of
from kernelgauge.packaging.contents import Contents, Operator, Variant, machine_of, provenance_of
from kernelgauge.packaging.homes.writing import HOMES, check_homes
from kernelgauge.packaging.judged_anew import ignores_weights, other_reference
from kernelgauge.packaging.names import DEFAULT, check_package_name, operator_name
from kernelgauge.packaging.shapes import Judged, Shapes, read_shapes
from kernelgauge.packaging.winners import LeftOut, Winner, class_of, left_out, winners
from kernelgauge.packaging.writing import check_free, file_of, needs_more, stand_alone, write_package
from kernelgauge.report.runs import StoredRun
from kernelgauge.runs import load
from kernelgauge.schema import Record
from kernelgauge.session.session import Session

UNSTATED = "not stated"
"""The licence of a kernel of which nobody has said one."""

_SLOWER = "is not the fastest of those that could be used"


class NothingToPackage(UsageError):
    """No candidate of these runs can be used; `left` says why, one by one."""

    def __init__(self, left: Sequence[LeftOut]):
        super().__init__(f"nothing can be packaged: {_why_nothing(left)}")
        self.left = tuple(left)


class Packaged(Record):
    """A package that was written."""

    folder: Path
    """Of the module; what is installed is the folder above."""
    contents: Contents


@dataclass
class _Making:
    """A package on its way: what goes in, what stays out, and the texts of its files."""

    name: str
    licence: str
    capability: str | None
    left: list[LeftOut]
    operators: list[Operator] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)


def package(
    runs: Sequence[StoredRun | str | Path],
    out: str | Path,
    *,
    name: str = DEFAULT,
    shapes: Shapes | str | Path | None = None,
    protocol: str | Protocol = "strict",
    licence: str = UNSTATED,
    homes: Sequence[str] = (),
    without: Mapping[str, str] | None = None,
    replace: bool = False,
    session: Session | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Packaged:
    """Write a package of the winners of these runs: installable, guarded, with PyTorch wherever they do not fit.

    Args:
        runs: run folders or logs of Inspect.
        out: its folder, which need not exist.
        name: of its module and of its operators' namespace in `torch.ops`.
        shapes: further shapes by problem at which winners are judged, and used where they win there.
        protocol: under which they are judged there.
        licence: of the kernels, as their owner states it.
        homes: forms for other libraries that are written beside it: `huggingface`, `flashinfer`, `backendbench`.
        without: problems whose winners stay out, and why: half a sentence whose subject is the candidate.
        replace: whether a package of that name in `out` may go.
        session: what judges; default: one of its own.
        tell: hears what takes longer than a moment.

    Raises:
        NothingToPackage: no candidate can be used.
        UsageError: a name, a file or a folder cannot be.
        DeviceMissing: winners must be judged for it, and this machine has no such device.
        StoreError: a folder cannot be read or written.
        MachineError: the machine failed while it judged.
    """
    out = Path(out)
    check_package_name(name)
    check_homes(homes)
    check_free(out, name, replace, homes)
    named = read_shapes(Path(shapes)) if isinstance(shapes, str | Path) else dict(shapes or {})
    found, left = winners([load(run) if isinstance(run, str | Path) else run for run in runs])
    for digest, those in list(found.items()):
        if reason := (without or {}).get(those[0].problem.key):
            left.extend(left_out(each.evaluation, reason) for each in found.pop(digest))
    if not found:
        raise NothingToPackage(left)
    by_key: dict[str, list[list[Winner]]] = {}
    for those in found.values():
        by_key.setdefault(those[0].problem.key, []).append(those)
    if unknown := sorted(set(named) - set(by_key)):
        raise UsageError(
            f"shapes are named for {unknown[0]}, and no winner answers that: there are {', '.join(by_key)}"
        )
    making = _Making(name, licence, _capability(next(iter(found.values()))[0]), left)
    own = session or Session()
    try:
        rules = protocol if isinstance(protocol, Protocol) else load_protocol(protocol)
        for key, groups in by_key.items():
            tell(f"packaging {key}")
            device = groups[0][0].evaluation.device
            judged = Judged(own, out / "judged", rules, device, tell)
            _add(making, own, groups, named.get(key, ()), judged)
    finally:
        if session is None:
            own.close()
    if not making.operators:
        raise NothingToPackage(making.left)
    contents = Contents(
        name=name, kernelgauge=__version__, operators=tuple(making.operators), left_out=tuple(making.left)
    )
    folder = write_package(out, contents, making.files, replace)
    for home in homes:
        HOMES[home](out, folder, contents)
    return Packaged(folder=folder, contents=contents)


def _add(making: _Making, session: Session, groups: list[list[Winner]], shapes: Sequence, judged: Judged) -> None:
    """One problem's operator: the best winner of each size it was judged at, then of each shape that was named."""
    usable = [fit for group in groups if (fit := _usable(making, session, group, every=bool(shapes)))]
    if not usable:
        return
    calls = [(each, call) for group in usable for each, call in group[:1]]
    distinct = {each.evaluation.candidate_digest: each for group in usable for each, _ in group}
    for elsewhere in judged.at(list(distinct.values()), shapes, making.left) if shapes else ():
        for each in elsewhere[:1]:
            found = _call(session, each)
            if isinstance(found, str):
                making.left.append(left_out(each.evaluation, found))
            else:
                calls.append((each, found))
    for group in usable:
        making.left.extend(
            left_out(each.evaluation, _SLOWER)
            for each, _ in group[1:]
            if each.evaluation.candidate_digest not in {w.evaluation.candidate_digest for w, _ in calls}
        )
    first, call = calls[0]
    name = operator_name(first.problem.name, first.problem.key, {each.name for each in making.operators})
    variants: list[Variant] = []
    seen: set[str] = set()
    for winner, its in calls:
        if its.schema != call.schema:
            making.left.append(left_out(winner.evaluation, "takes other arguments at its sizes than at those before"))
        elif str(its.arguments) not in seen:
            seen.add(str(its.arguments))
            if reason := other_reference(session, first.problem, winner, its):
                making.left.append(left_out(winner.evaluation, reason))
                continue
            variants.append(_variant(making, name, len(variants), winner, its))
    about = f"Problem {first.problem.key} {first.problem.name}: {', '.join(call.names)}."
    made = Operator(name=name, about=about, schema_=call.schema, arguments=call.names, variants=tuple(variants))
    making.operators.append(made)


def _usable(making: _Making, session: Session, group: Sequence[Winner], every: bool) -> list[tuple[Winner, Call]]:
    """Those of one problem's winners that can be an operator, in their order; the first alone unless `every` is."""
    found: list[tuple[Winner, Call]] = []
    for winner in group:
        if found and not every:
            if winner.evaluation.candidate_digest != found[0][0].evaluation.candidate_digest:
                making.left.append(left_out(winner.evaluation, _SLOWER))
            continue
        call = _call(session, winner)
        reason = call if isinstance(call, str) else _unfit(session, winner, call)
        if reason is not None:
            making.left.append(left_out(winner.evaluation, reason))
        else:
            assert isinstance(call, Call)
            found.append((winner, call))
    return found


def _call(session: Session, winner: Winner) -> Call | str:
    try:
        return call_of(session.describe(winner.problem, winner.evaluation.math))  # type: ignore[arg-type]
    except ProblemError as error:
        return f"answers a problem that cannot be described: {error}"


def _unfit(session: Session, winner: Winner, call: Call) -> str | None:
    """Why a candidate cannot be the kernel of an operator; None if it can."""
    if needs_more(winner.source):
        return "imports more of kernelgauge than its kernels, which a package has not got"
    return ignores_weights(session, winner, call)


def _variant(making: _Making, operator: str, number: int, winner: Winner, call: Call) -> Variant:
    record = winner.evaluation
    home = f"winners/{operator}/v{number}"
    texts = {
        f"{home}/candidate.py": stand_alone(winner.source, making.name),
        f"{home}/reference.py": winner.problem.source,
    }
    making.files.update(texts)
    candidate, reference = (file_of(path, text) for path, text in texts.items())
    assert record.math is not None
    return Variant(
        backend=record.backend,
        math=record.math,
        machine=machine_of(winner, making.capability),
        variables={"TORCH_CUDA_ARCH_LIST": architecture()} if record.backend == "cuda" and making.capability else {},
        candidate=candidate,
        reference=reference,
        inputs=call.inputs,
        arguments=call.arguments,
        state=call.state,
        results=call.results,
        provenance=provenance_of(winner, making.licence),
    )


def _capability(winner: Winner) -> str | None:
    """Of the class of machine of a winner, where this machine is one of it."""
    import torch

    kind, name, _ = class_of(winner.evaluation)
    if kind == "cpu":
        from kernelgauge.hardware.environment import cpu_model

        return torch.backends.cpu.get_cpu_capability() if cpu_model() == name else None
    asked = ("--format=csv,noheader",)
    here = first_line("nvidia-smi", "--query-gpu=name", *asked)
    return first_line("nvidia-smi", "--query-gpu=compute_cap", *asked) if here == name else None


def _why_nothing(left: Sequence[LeftOut]) -> str:
    if not left:
        return "these runs hold no records"
    return "; ".join(_said(left[:3])) + (f"; and {len(left) - 3} others" if len(left) > 3 else "")


def _said(left: Sequence[LeftOut]) -> Iterator[str]:
    for each in left:
        yield f"{each.problem}: the candidate of {each.contestant} {' '.join(each.reason.split())[:200]}"

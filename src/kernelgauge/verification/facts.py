"""A problem's description against the recorded facts: every difference as a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kernelgauge.problems.facts import Facts, SizeFacts

# Of a fingerprint: float64 arithmetic on another processor, through the worst-conditioned problem.
_SAME = 1e-4
# An output below that is what rounding in float64 has left of a zero (2/23), and other processors round otherwise.
_NOTHING = 1e-12
_PARTLY_READ = 0.05


def differences(found: dict[str, Any], facts: Facts) -> Iterator[str]:
    """Where a problem at its full sizes (`description.described`) is not the published one."""
    yield from _constants(found["constants"], facts.constants)
    yield from _differs("inputs", found["inputs"], [_as_found(each) for each in facts.inputs])
    yield from _differs("constructor arguments", found["init_args"], facts.init_args)
    yield from _state(found["state"], facts)
    if found["output"] is not None:
        yield from _differs("output", found["output"], facts.output)
        yield from _differs("FLOPs", found["flops"], facts.flops)


def _as_found(given: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name != "dtype" or "shape" in given}


def bytes_difference(described: dict[str, Any], unreached: list[str], facts: Facts) -> Iterator[str]:
    """Where the least memory traffic is not the recorded one, with or without parameters that reach no output.

    Shapes are compared exactly elsewhere; here 5 % are left for parameters of which only some elements are read.
    """
    figures = [each for each in (minimal_bytes(described, unreached), minimal_bytes(described, [])) if each]
    if figures and min(abs(figure - facts.min_bytes) for figure in figures) > _PARTLY_READ * facts.min_bytes:
        yield from _differs("minimal bytes", figures[0], facts.min_bytes)


def minimal_bytes(described: dict[str, Any], unreached: list[str]) -> int | None:
    """Inputs, parameters that reach an output, and outputs, each moved once; None where the output is not known."""
    moved: dict[str, Any] = described["bytes"]
    if moved["output"] is None:
        return None
    parameters = sum(size for name, size in moved["parameters"].items() if name not in unreached)
    return int(moved["inputs"] + parameters + moved["output"])


def size_differences(found: dict[str, Any], facts: Facts, size: SizeFacts) -> Iterator[str]:
    """Where a forward at a reduced size (`description.executed`) is not as recorded."""
    yield from _constants(found["constants"], size.constants)
    shapes = [each.get("shape", each.get("value")) for each in found["inputs"]]
    if len(size.inputs) < len(shapes):  # some catalogue entries list tensors only
        shapes = [each["shape"] for each in found["inputs"] if "shape" in each]
    yield from _differs("input shapes", shapes, size.inputs)
    dtypes = [each["dtype"] for each in found["inputs"] if "dtype" in each]
    yield from _differs("input dtypes", dtypes, [each["dtype"] for each in facts.inputs if "shape" in each])
    yield from _differs("output shapes", [each["shape"] for each in found["output"]], size.output)
    yield from _differs(
        "output dtypes", [each["dtype"] for each in found["output"]], [each["dtype"] for each in facts.output]
    )


def misbehaviour(found: dict[str, Any], may_draw: bool) -> Iterator[str]:
    """What would make any judgement at this size worthless."""
    if not found["output"]:
        yield "forward returns no tensor"
    if not found["repeats"]:
        yield "the same seed gives another result"
    if found["draws_in_forward"] and not may_draw:
        yield "two calls on the same inputs differ, and it is not tagged `random`"
    if not found["finite"]:
        yield "the output is not finite"


def fingerprint_differences(
    found: Mapping[str, Sequence[float]], recorded: Mapping[str, Sequence[float]]
) -> Iterator[str]:
    """Where what is drawn or computed under the fixed seed is no longer what was recorded."""
    for what, (scale, signed) in recorded.items():
        now_scale, now_signed = found[what]
        if max(scale, now_scale) < _NOTHING:
            continue
        if abs(now_scale - scale) > _SAME * abs(scale) or abs(now_signed - signed) > _SAME * max(1.0, abs(signed)):
            yield f"the {what} under seed 0 are no longer what was recorded"


def _constants(found: dict[str, Any], due: dict[str, Any]) -> Iterator[str]:
    for name, value in due.items():
        yield from _differs(f"constant {name}", found.get(name), value)


def _state(found: dict[str, list[int]], facts: Facts) -> Iterator[str]:
    due = facts.state
    missing = [name for name in due if name not in found]
    extra = [name for name in found if name not in due]
    other = [name for name in due if name in found and found[name] != due[name]]
    if missing:
        yield f"state lacks {_few(missing)}"
    if extra:
        yield f"state has {_few(extra)} too many"
    for name in other[:3]:
        yield f"{name} has shape {found[name]} where {due[name]} is published"
    if facts.state_in_order and not (missing or extra) and list(found) != list(due):
        yield "the keys of the state are in another order"


def _few(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _differs(what: str, found: object, due: object) -> Iterator[str]:
    if found != due:
        yield f"{what}: {str(found)[:120]} where {str(due)[:120]} is published"

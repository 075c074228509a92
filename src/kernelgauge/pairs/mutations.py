"""Typed faults in C++, CUDA and TorchInductor's Triton: token patterns in the kernel sources of a candidate.

There is no tree here, so an operator is a pattern that finds whole tokens in lines that compute on values, and
leaves comments, indices and sizes alone. What it breaks so that it no longer compiles is dropped as stillborn.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_BLOCK = re.compile(r"r?(?P<quote>'''|\"\"\")(?P<body>.*?)(?P=quote)", re.DOTALL)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_LOOP = re.compile(r"for\s*\((?P<start>[^;]*);(?P<test>[^;]*);(?P<step>[^\n{]*)\)")
_BOUND = re.compile(r"(?P<variable>\w+)\s*<\s*(?P<bound>[^&|]+)")
_FLOAT = re.compile(r"(?<![\w.])(?P<number>\d+\.\d*(?:[eE][-+]?\d+)?|\d+[eE][-+]?\d+)(?P<suffix>f?)(?!\w)")
_COUNTING = re.compile(
    r"\b(?:int|int64_t|int32_t|size_t|unsigned|dim3|long|for|if|while|TORCH_CHECK|#\w+|auto stream)\b|<<<|#|\w\*"
)
_INDEXED = re.compile(r"\[[^\[\]]*\]|(?:loadu|store|empty\w*|size|data_ptr)\s*(?:<\w+>)?\([^;]*")
_ARITHMETIC = re.compile(r"(?<=[\w\])]) (?P<sign>[-+*/]) (?=[\w(])")
_ACCUMULATE = re.compile(r"^\s*(?P<target>[\w.\[\]]+) \+= (?P<value>[^;]+);", re.MULTILINE)
_STORE = re.compile(r"(?P<value>\btmp\d+)\.store\(")
_WRITE = re.compile(r"(?P<target>\b(?:out|y|o|dst|result)\w*\[[^;=]+\]) = (?P<value>[^;=]+);")
_PARAMETER = re.compile(r" [*+] (?:weight|bias|gamma|beta|scale|w|b)\[[^\]]*\]")
_LOWEST = re.compile(r"-\s*(?:FLT_MAX|INFINITY|std::numeric_limits<float>::infinity\(\))")
_JIT = "@triton.jit"
_TRITON_STEP = re.compile(r"^ +tmp\d+ = tmp\d+ (?P<sign>[-+*/]) tmp\d+$", re.MULTILINE)
_TRITON_NUMBER = re.compile(r"^ +tmp\d+ = (?P<number>-?\d+\.\d*(?:e[-+]?\d+)?|-?\d+e[-+]?\d+)$", re.MULTILINE)
_TRITON_STORE = re.compile(r"tl\.store\(.*, (?P<value>tmp\d+), (?:[a-z0-9_]+mask|None)", re.MULTILINE)
_TRITON_CHOICE = re.compile(r"tl\.where\(tmp\d+, (?P<yes>tmp\d+), (?P<no>tmp\d+)\)")
_TRITON_MASK = re.compile(r"^ +[a-z0-9_]+mask = (?P<index>\w+) < (?P<bound>\w+)$", re.MULTILINE)
_TRITON_FUNCTION = {
    "triton_helpers.maximum": "triton_helpers.minimum",
    "triton_helpers.minimum": "triton_helpers.maximum",
    "triton_helpers.max2": "triton_helpers.min2",
    "triton_helpers.min2": "triton_helpers.max2",
    "libdevice.rsqrt": "libdevice.sqrt",
    "libdevice.sqrt": "libdevice.rsqrt",
    "libdevice.tanh": "libdevice.erf",
    "libdevice.erf": "libdevice.tanh",
    "tl_math.exp": "libdevice.expm1",
    "libdevice.exp": "libdevice.expm1",
    "tl.sigmoid": "libdevice.tanh",
    "tl_math.abs": "",
}
_OTHER_FUNCTION = {
    "fmaxf": "fminf",
    "fminf": "fmaxf",
    "std::max": "std::min",
    "std::min": "std::max",
    "at::vec::maximum": "at::vec::minimum",
    "at::vec::minimum": "at::vec::maximum",
    "expf": "exp2f",
    "erff": "tanhf",
    "tanhf": "erff",
    "fabsf": "",
    "sqrtf": "cbrtf",
    ".exp()": ".expm1()",
    ".erf()": ".tanh()",
    ".tanh()": ".erf()",
    ".sqrt()": ".rsqrt()",
    ".rsqrt()": ".reciprocal()",
    ".abs()": "",
}
# The upper 16 bits are a bfloat16, cut off.
_CUT = {
    "cuda": "__uint_as_float(__float_as_uint((float)({value})) & 0xFFFF0000u)",
    "cpp": "c10::bit_cast<float>(c10::bit_cast<uint32_t>((float)({value})) & 0xFFFF0000u)",
}
_CUT_VECTOR = "({value} & at::vec::Vectorized<float>(c10::bit_cast<float>(uint32_t(0xFFFF0000u)))).store("


@dataclass(frozen=True)
class Change:
    """Characters of the text from `start` to `end`, and what takes their place."""

    start: int
    end: int
    new: str
    what: str


Finder = Callable[[str, str], Iterator[Change]]


def kernels(text: str) -> Iterator[tuple[int, str]]:
    """The kernel sources in a candidate's text, with their offsets; comments of C++ and CUDA are blanked."""
    for block in _BLOCK.finditer(text):
        body = block["body"]
        if "#include" in body and "{" in body:
            yield block.start("body"), _COMMENT.sub(lambda found: " " * len(found[0]), body)
        elif _JIT in body:  # above it stands what TorchInductor tells Triton
            start = body.index(_JIT)
            yield block.start("body") + start, body[start:]


def _value_lines(body: str) -> Iterator[tuple[int, str]]:
    """Lines that compute on values, indices blanked, with their offsets."""
    offset = 0
    for line in body.splitlines(keepends=True):
        if "=" in line and not _COUNTING.search(line):
            shown = _INDEXED.sub(lambda found: "_" * len(found[0]), line)
            yield offset, shown
        offset += len(line)


def off_by_one_bound(body: str, language: str) -> Iterator[Change]:
    """A loop ends one too early."""
    for loop in _LOOP.finditer(body):
        if bound := _BOUND.search(loop["test"]):
            at = loop.start("test") + bound.start("bound")
            text = bound["bound"].strip()
            yield Change(at, at + len(text), f"(({text}) - 1)", f"loop to {text} - 1")


def missing_tail(body: str, language: str) -> Iterator[Change]:
    """A loop leaves out what is less than sixteen at its end."""
    for loop in _LOOP.finditer(body):
        if bound := _BOUND.search(loop["test"]):
            at = loop.start("test") + bound.start("bound")
            text = bound["bound"].strip()
            yield Change(at, at + len(text), f"(({text}) - ({text}) % 16)", f"loop to whole tiles of {text}")


def wrong_constant(body: str, language: str) -> Iterator[Change]:
    """A constant is one per cent off, or has three significant digits."""
    for number in _FLOAT.finditer(body):
        value = float(number["number"])
        if value == 0 or abs(value) > 1e30:
            continue
        for new in {value * 1.01, float(f"{value:.2e}")} - {value}:
            shown = f"{new!r}{number['suffix']}"
            yield Change(number.start(), number.end(), shown, f"{number[0]} -> {shown}")


def wrong_epsilon(body: str, language: str) -> Iterator[Change]:
    """An epsilon is a hundred times too large, or ten times too small."""
    for number in _FLOAT.finditer(body):
        value = float(number["number"])
        if 0 < value < 1e-2:
            for factor in (100.0, 0.1):
                shown = f"{value * factor!r}{number['suffix']}"
                yield Change(number.start(), number.end(), shown, f"{number[0]} -> {shown}")


def wrong_operator(body: str, language: str) -> Iterator[Change]:
    """A sum is a difference, a product a quotient."""
    other = {"+": "-", "-": "+", "*": "/", "/": "*"}
    for offset, line in _value_lines(body):
        for sign in _ARITHMETIC.finditer(line):
            at = offset + sign.start("sign")
            yield Change(
                at, at + 1, other[sign["sign"]], f"{line.strip()[:60]}: {sign['sign']} -> {other[sign['sign']]}"
            )


def wrong_function(body: str, language: str) -> Iterator[Change]:
    """Another function: a minimum for a maximum, an exponential to base two, a value with its sign."""
    for name, new in _OTHER_FUNCTION.items():
        before = "" if name.startswith(".") else r"(?<![\w:])"
        for found in re.finditer(before + re.escape(name) + ("" if name.endswith(")") else r"(?=[<(])"), body):
            yield Change(found.start(), found.end(), new, f"{name} -> {new or 'nothing'}")


def overwritten_sum(body: str, language: str) -> Iterator[Change]:
    """A running sum forgets what was before."""
    for step in _ACCUMULATE.finditer(body):
        if not _COUNTING.search(step[0]):
            at = step.end("target") + 1
            yield Change(at, at + 2, "=", f"{step[0].strip()}: = for +=")


def low_precision_accumulate(body: str, language: str) -> Iterator[Change]:
    """A running sum keeps 8 bits after every step."""
    for step in _ACCUMULATE.finditer(body):
        if not _COUNTING.search(step[0]):
            cut = _CUT[language].format(value=f"{step['target']} + ({step['value']})")
            start = step.start("target")
            yield Change(start, step.end(), f"{step['target']} = {cut};", f"{step['target']} cut to 8 bits")


def low_precision_output(body: str, language: str) -> Iterator[Change]:
    """What is written has 8 bits."""
    for store in _STORE.finditer(body):
        new = _CUT_VECTOR.format(value=store["value"])
        yield Change(store.start(), store.end(), new, f"{store['value']} stored with 8 bits")
    for write in _WRITE.finditer(body):
        new = f"{write['target']} = {_CUT[language].format(value=write['value'])};"
        yield Change(write.start(), write.end(), new, f"{write['target']} written with 8 bits")


def ignored_parameter(body: str, language: str) -> Iterator[Change]:
    """A gain or a shift is left out."""
    for used in _PARAMETER.finditer(body):
        yield Change(used.start(), used.end(), "", f"without{used[0]}")


def wrong_identity(body: str, language: str) -> Iterator[Change]:
    """A maximum starts from zero."""
    for lowest in _LOWEST.finditer(body):
        yield Change(lowest.start(), lowest.end(), "0.0f", f"{lowest[0]} -> 0")


def missing_barrier(body: str, language: str) -> Iterator[Change]:
    """Threads of a block do not wait for each other."""
    for barrier in re.finditer(r"__syncthreads\(\);", body):
        yield Change(barrier.start(), barrier.end(), "", "without __syncthreads()")


NATIVE_OPERATORS: dict[str, Finder] = {
    finder.__name__: finder
    for finder in (
        off_by_one_bound,
        missing_tail,
        wrong_constant,
        wrong_epsilon,
        wrong_operator,
        wrong_function,
        overwritten_sum,
        low_precision_accumulate,
        low_precision_output,
        ignored_parameter,
        wrong_identity,
        missing_barrier,
    )
}


def triton_operator(body: str, language: str) -> Iterator[Change]:
    """A sum is a difference, a product a quotient."""
    other = {"+": "-", "-": "+", "*": "/", "/": "*"}
    for step in _TRITON_STEP.finditer(body):
        sign, at = step["sign"], step.start("sign")
        yield Change(at, at + 1, other[sign], f"{step[0].strip()}: {sign} -> {other[sign]}")


def triton_constant(body: str, language: str) -> Iterator[Change]:
    """A constant is five per cent off, an epsilon a hundred times too large."""
    for number in _TRITON_NUMBER.finditer(body):
        value = float(number["number"])
        if value != 0 and abs(value) < 1e30:
            new = repr(value * (100.0 if abs(value) < 1e-2 else 1.05))
            yield Change(number.start("number"), number.end("number"), new, f"{number['number']} -> {new}")


def triton_function(body: str, language: str) -> Iterator[Change]:
    """Another function: a minimum for a maximum, a root for its inverse, a value with its sign."""
    for name, new in _TRITON_FUNCTION.items():
        for found in re.finditer(rf"(?<![\w.]){re.escape(name)}(?=\()", body):
            yield Change(found.start(), found.end(), new, f"{name} -> {new or 'nothing'}")


def triton_branches(body: str, language: str) -> Iterator[Change]:
    """The two sides of a choice change places."""
    for choice in _TRITON_CHOICE.finditer(body):
        start, end = choice.start("yes"), choice.end("no")
        yield Change(start, end, f"{choice['no']}, {choice['yes']}", f"{choice[0]}: branches swapped")


def triton_tail(body: str, language: str) -> Iterator[Change]:
    """The last element is left out."""
    for mask in _TRITON_MASK.finditer(body):
        new = f"{mask['bound']} - 1"
        yield Change(mask.start("bound"), mask.end("bound"), new, f"{mask['index']} < {new}")


def triton_low_precision(body: str, language: str) -> Iterator[Change]:
    """What is written has 8 bits."""
    for store in _TRITON_STORE.finditer(body):
        new = f"{store['value']}.to(tl.bfloat16).to(tl.float32)"
        yield Change(store.start("value"), store.end("value"), new, f"{store['value']} stored with 8 bits")


TRITON_OPERATORS: dict[str, Finder] = {
    finder.__name__: finder
    for finder in (
        triton_operator,
        triton_constant,
        triton_function,
        triton_branches,
        triton_tail,
        triton_low_precision,
    )
}


def changes(text: str, name: str) -> list[tuple[Change, str]]:
    """Every place an operator finds in a candidate's kernels, with the text that results."""
    found: dict[str, Change] = {}
    for offset, body in kernels(text):
        language = "triton" if body.startswith(_JIT) else "cuda" if "__global__" in body else "cpp"
        finder = (TRITON_OPERATORS if language == "triton" else NATIVE_OPERATORS).get(name)
        for change in finder(body, language) if finder else ():
            start, end = offset + change.start, offset + change.end
            found.setdefault(text[:start] + change.new + text[end:], change)
    return [(change, changed) for changed, change in found.items()]


def faults(text: str, seed: str) -> Iterator[tuple[str, Change, str]]:
    """Operator, change and changed text of every fault there can be, in an order that the seed decides.

    Each operator has its turn before one comes again, so that the first few are of different kinds.
    """
    draw = random.Random(seed)
    found = {name: changes(text, name) for name in (*NATIVE_OPERATORS, *TRITON_OPERATORS)}
    names = [name for name, places in found.items() if places]
    draw.shuffle(names)
    for places in found.values():
        draw.shuffle(places)
    for turn in range(max(map(len, found.values()), default=0)):
        for name in names:
            if turn < len(found[name]):
                change, changed = found[name][turn]
                yield name, change, changed

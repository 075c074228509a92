"""Negatives of a right kernel: faults in Triton and C++, cheats, slow ones; the same ones each time."""

from __future__ import annotations

import ast
from itertools import islice
from pathlib import Path

from pair_rows import KERNEL, make_row

from kernelgauge.pairs.mutations import TRITON_OPERATORS, changes, faults
from kernelgauge.pairs.negatives import proposals
from kernelgauge.pairs.readable import readable

HOPPER = (Path(__file__).parents[1] / "data" / "inductor_relu_on_hopper.py").read_text()
TRITON = """
kernel = async_compile.triton('kernel', '''
@triton_heuristics.pointwise(size_hints={'x': 4096}, meta={'seen': 1.5})
@triton.jit
def kernel(in_ptr0, out_ptr0, xnumel, XBLOCK : tl.constexpr):
    xnumel = 3072
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:]
    xmask = xindex < xnumel
    x0 = xindex
    tmp0 = tl.load(in_ptr0 + (x0), xmask)
    tmp1 = 1e-05
    tmp2 = tmp0 + tmp1
    tmp3 = libdevice.rsqrt(tmp2)
    tmp4 = triton_helpers.maximum(tmp3, tmp2)
    tmp5 = tl.where(tmp4, tmp3, tmp2)
    tl.store(out_ptr0 + (x0), tmp5, xmask)
''')
"""


def test_each_operator_of_triton_changes_the_kernel_and_nothing_around_it() -> None:
    start = TRITON.index("@triton.jit")
    for name in TRITON_OPERATORS:
        found = changes(TRITON, name)
        assert found, name
        for change, text in found:
            assert change.start > start and text != TRITON and text[:start] == TRITON[:start]
            inside = ast.parse(text).body[0].value.args[1].value  # type: ignore[attr-defined]
            ast.parse(inside)
    assert {change.what for change, _ in changes(TRITON, "triton_constant")} == {"1e-05 -> 0.001"}
    assert changes(TRITON, "wrong_constant") == []
    assert {name for name, _, _ in faults(HOPPER, "a")} == {"triton_function", "triton_low_precision"}


def test_faults_are_of_different_kinds_first_and_the_same_each_time() -> None:
    found = [name for name, _, _ in faults(TRITON, "seed")]
    assert found == [name for name, _, _ in faults(TRITON, "seed")]
    assert len(set(found[: len(set(found))])) == len(set(found))


def test_proposals_are_of_all_kinds_in_an_order_of_the_rows_own() -> None:
    row = make_row("a", source=TRITON + KERNEL, speedup=2.0)
    found = list(proposals(row))
    assert [each.what for each in found] == [each.what for each in proposals(row)]
    assert {each.how for each in found} == {"mutation", "cheat", "slow"}
    for each in found:
        ast.parse(each.source)
    (slow,) = (each for each in found if each.how == "slow")
    assert slow.what == "computes its answer 4 times"
    narrow = list(proposals(make_row("a", source=TRITON + KERNEL, math="bf16", speedup=2.0)))
    assert not [each for each in narrow if "bfloat16" in each.what or "low_precision" in each.what]
    assert len({each.what for each in islice(proposals(make_row("b", speedup=2.0)), 3)}) == 3


def test_a_readable_text_has_lost_what_nothing_uses() -> None:
    text = (
        "import os\nimport torch\nimport torch\naten = torch.ops.aten\nused = torch.nn\n\n\nx = used.ReLU()  # kept\n"
    )
    assert readable(text) == "import torch\nused = torch.nn\n\n\nx = used.ReLU()  # kept\n"
    assert readable("from __future__ import annotations\n") == "from __future__ import annotations\n"

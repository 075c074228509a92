"""What real answers look like, and the candidate that each of them contains."""

from __future__ import annotations

import time

import pytest

from kernelgauge.generation.extraction import defined_names, extract, parsed

CODE = """import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
"""
OTHER = CODE.replace("torch.relu(x)", "x.clamp(min=0)")
FENCED = f"```python\n{CODE}```"
KERNEL = "__global__ void f(float* x) {\n    x[threadIdx.x] = 0;\n}"
LOADS = """import torch
from torch.utils.cpp_extension import load_inline

kernels = load_inline(name="f", cpp_sources="", cuda_sources=SOURCE)


class ModelNew(torch.nn.Module):
    pass
"""
DOCSTRING = CODE.replace(
    "    def forward", '    """Use:\n\n```python\nmodel = ModelNew()\n```\n    """\n\n    def forward'
)

WHOLE = {
    "fenced": (FENCED, CODE),
    "no language": (f"```\n{CODE}```", CODE),
    "tildes": (f"~~~py\n{CODE}~~~", CODE),
    "prose around": (f"Here it is:\n\n{FENCED}\n\nIt is fast because `x` is read once.", CODE),
    "windows line ends": (FENCED.replace("\n", "\r\n"), CODE),
    "byte order mark": ("\ufeff" + FENCED, CODE),
    "last of two": (f"First try:\n{FENCED}\nBetter:\n```python\n{OTHER}```", OTHER),
    "usage after it": (f"{FENCED}\nUse it:\n```python\nmodel = ModelNew()\n```\n```bash\npython x.py\n```", CODE),
    "import of it after it": (f"{FENCED}\nUse it:\n```python\nfrom x import ModelNew\nprint(ModelNew())\n```", CODE),
    "draft cut off after it": (f"{FENCED}\nOr:\n```python\n{OTHER[:60]}", CODE),
    "no closing fence": (f"Sure.\n```python\n{CODE}", CODE),
    "no fence": (CODE, CODE),
    "no fence, prose around": (f"Certainly! This is it:\n\n{CODE}\nThis kernel is fast, isn't it?", CODE),
    "no fence, bullet points after": (f"{CODE}\n- reads once\n- writes once\n", CODE),
    "reasoning before": (f"<think>\nMaybe\n```python\n{OTHER}```\nno.\n</think>\n{FENCED}", CODE),
    "reasoning after": (f"{FENCED}\n<think>```python\n{OTHER}```", CODE),
    "reasoning without a beginning": (f"Maybe\n```python\n{OTHER}```\nno.\n</think>\n\n{FENCED}", CODE),
    "reasoning twice": (f"So\n</think>\n<think>```python\n{OTHER}```</think>{FENCED}", CODE),
    "tags that are spoken of": (f"I would mark a plan with <thinking> tags, but here is the file:\n{FENCED}", CODE),
    "tags in a program": (
        f"```python\nEND = '</think>'  # use the </think> marker\nTAG = '<think>'\n{CODE}```",
        f"END = '</think>'  # use the </think> marker\nTAG = '<think>'\n{CODE}",
    ),
    "fence in a docstring": (f"```python\n{DOCSTRING}```", DOCSTRING),
    "fenced in fenced": (f"````markdown\nThe file:\n{FENCED}\n````", CODE),
    "fenced in fenced of one length": (f"```markdown\nThe file:\n{FENCED}\n```", CODE),
    "in a list": ("1. The file:\n\n   ```python\n" + "".join(f"   {x}\n" for x in CODE.split("\n")) + "   ```", CODE),
    "wrong language tag": (f"```cpp\n{CODE}```", CODE),
    "alias": ("```python\nfrom a import B\n\nModelNew = B\n```", "from a import B\n\nModelNew = B\n"),
}


@pytest.mark.parametrize(("answer", "expected"), WHOLE.values(), ids=WHOLE)
def test_the_last_whole_piece_wins(answer: str, expected: str) -> None:
    found = extract(answer)
    assert found.whole
    assert found.source is not None
    assert [line.rstrip() for line in found.source.split("\n")] == [line.rstrip() for line in expected.split("\n")]


def test_several_whole_blocks_are_said() -> None:
    notes = extract(WHOLE["last of two"][0]).notes
    assert any("2 blocks" in note and "the last is taken" in note for note in notes)
    assert extract(FENCED).notes == ()


def test_a_missing_end_is_said() -> None:
    assert "no end" in " ".join(extract(WHOLE["no closing fence"][0]).notes)


@pytest.mark.parametrize("tag", ["cuda", "cpp"])
def test_a_kernel_in_a_block_of_its_own_is_put_under_the_name_that_is_used(tag: str) -> None:
    found = extract(f"The kernel:\n```{tag}\n{KERNEL}\n```\nand the module:\n```python\n{LOADS}```")
    assert found.whole
    assert found.source is not None
    values: dict[str, object] = {}
    exec(found.source.split("import torch")[0], values)
    assert str(values["SOURCE"]).strip() == KERNEL
    assert found.source.endswith(LOADS)
    assert "SOURCE" in found.notes[-1]


def test_a_raw_kernel_in_a_block_of_its_own() -> None:
    source = LOADS.replace('load_inline(name="f", cpp_sources="", cuda_sources=SOURCE)', 'cuda_kernel(SOURCE, "f")')
    found = extract(f"```cuda\n{KERNEL}\n```\n```python\n{source}```")
    assert found.source is not None and found.source.startswith('SOURCE = r"""\n__global__')


def test_an_import_alone_defines_no_model() -> None:
    found = extract("```python\nfrom x import ModelNew\n```")
    assert not found.whole


def test_a_draft_in_reasoning_is_no_answer() -> None:
    assert extract(f"Maybe\n{FENCED}\nNo.\n</think>\nI cannot do that.").source is None


DECLARATION = "torch::Tensor f(torch::Tensor x);"
TWO = LOADS.replace('cpp_sources="", cuda_sources=SOURCE', "cpp_sources=[cpp_src], cuda_sources=[cuda_src]")


@pytest.mark.parametrize("tags", [("cpp", "cuda"), ("cpp", "cpp"), ("cuda", "cuda")])
def test_declarations_and_kernel_in_blocks_of_their_own_are_told_apart(tags: tuple[str, str]) -> None:
    """By what they hold: both may have the same tag."""
    host, device = tags
    found = extract(f"```{host}\n{DECLARATION}\n```\n```{device}\n{KERNEL}\n```\n```python\n{TWO}```")
    assert found.whole and not found.missing and len(found.notes) == 2
    assert found.source is not None
    values: dict[str, object] = {}
    exec(found.source.split("import torch")[0], values)
    assert (str(values["cpp_src"]).strip(), str(values["cuda_src"]).strip()) == (DECLARATION, KERNEL)


def test_a_kernel_joins_after_what_must_stand_first() -> None:
    source = f'"""What it is."""\nfrom __future__ import annotations\n{LOADS}'
    found = extract(f"```cuda\n{KERNEL}\n```\n```python\n{source}```")
    assert found.source is not None and "SOURCE = r" in found.source
    compile(found.source, "candidate", "exec")


def test_a_kernel_that_quotes_joins_too() -> None:
    found = extract(f'```cuda\n{KERNEL} // """ \\n\n```\n```python\n{LOADS}```')
    values: dict[str, object] = {}
    exec((found.source or "").split("import torch")[0], values)
    assert values["SOURCE"] == f'{KERNEL} // """ \\n'


@pytest.mark.parametrize(
    "sources", ['["kernel.cu"]', '[os.path.join(HERE, "kernel.cu")]', '["x.cpp", str(HERE / "kernel.cu")]']
)
@pytest.mark.parametrize("how", ['load(name="f", sources={})', 'cpp_extension.load("f", {})'])
def test_a_file_beside_the_python_is_missing_and_that_is_said(sources: str, how: str) -> None:
    source = f"{how.format(sources)}\n{CODE}"
    found = extract(f"kernel.cu:\n```cuda\n{KERNEL}\n```\n```python\n{source}```")
    assert found.source == source and "kernel.cu" in found.missing
    assert any("compiles kernel.cu, which it does not hold" in note for note in found.notes)
    writes = f'open("kernel.cu", "w").write("{KERNEL}")\n{source}'
    assert extract(f"```python\n{writes}```").missing == ()


@pytest.mark.parametrize(
    "source",
    [
        'def f():\n    own = ""\n    return load_inline(cuda_sources=[own], cpp_sources=str(own))\n',
        "from kernels import *\nload_inline(cuda_sources=own)\n",
        "import kernels\nload_inline(cuda_sources=kernels.own)\n",
        "load_inline(cuda_sources=[k.text for k in (1, 2)])\n",
        'def f(own):\n    return cuda_kernel(own, "f")\n',
        "json.load(file)\n",
    ],
)
def test_what_is_bound_anywhere_is_not_missing(source: str) -> None:
    found = extract(f"```python\n{source}{CODE}```")
    assert found.whole and found.missing == found.notes == ()


def test_a_name_that_the_file_defines_is_left_alone() -> None:
    source = LOADS.replace("kernels =", 'SOURCE = "own"\nkernels =')
    assert extract(f"```cuda\n{KERNEL}\n```\n```python\n{source}```").source == source


def test_which_of_two_kernels_is_meant_is_not_guessed() -> None:
    found = extract(f"```cuda\n{KERNEL}\n```\n```cuda\n{KERNEL}\n```\n```python\n{LOADS}```")
    assert found.source == LOADS and found.missing == ("SOURCE",)


def test_an_answer_that_was_cut_off_gives_its_beginning_and_says_so() -> None:
    found = extract(f"```python\n{CODE[:-3]}")
    assert not found.whole
    assert found.source is not None and found.source.startswith("import torch")
    assert "ends in the middle" in found.notes[0]


def test_what_parses_is_not_whole_in_an_answer_that_was_cut_off() -> None:
    shorter = CODE[: -len("rch.relu(x)\n")]
    answer = f"{FENCED}\nor\n```python\n{shorter}"
    assert extract(answer).source == CODE
    assert extract(answer, cut_off=True).source == CODE
    assert extract(f"```python\n{shorter}").whole
    assert not extract(f"```python\n{shorter}", cut_off=True).whole
    assert not extract(shorter, cut_off=True).whole


def test_broken_python_is_given_for_a_verdict() -> None:
    found = extract("```python\nclass ModelNew(:\n    pass\n```")
    assert (found.source, found.whole) == ("class ModelNew(:\n    pass\n", False)


@pytest.mark.parametrize("answer", ["", "   ", "I cannot do that.", "<think>so", f"```cuda\n{KERNEL}\n```"])
def test_an_answer_without_python_has_no_candidate(answer: str) -> None:
    found = extract(answer)
    assert found.source is None
    assert found.notes


def test_a_flood_of_fences_ends() -> None:
    assert extract("```\nx\n" * 20_001 + FENCED).source == CODE
    assert not extract(("```\nclass ModelNew(\n" + "x = 1\n" * 50) * 2000).whole


def test_not_text_for_a_parser_is_no_error() -> None:
    assert not extract("```python\nclass ModelNew: x = '\x00'\n```").whole
    assert not extract("```python\nModelNew = " + "(" * 10_000 + "\n```").whole


def test_names_bound_in_branches_count() -> None:
    tree = parsed("try:\n    import triton as t\nexcept ImportError:\n    u = 1\nif t:\n    class ModelNew: ...\n")
    assert tree is not None
    assert defined_names(tree) == {"u", "ModelNew"}


HARD = {
    "a fence that a mark ends": "```" + " " * 40_000 + "a" * 40_000 + "`",
    "marks": "~" * 100_000 + "`",
    "spaces before a fence": " " * 100_000 + "```",
    "an assignment that is none": "a" * 50_000 + " " * 50_000 + ":" + " " * 50_000 + "b" * 50_000,
    "tags": ("<think> x\n" * 10_000) + ("</think> x\n" * 10_000),
    "spaces before a tag": "\n".join([" " * 1000] * 100) + "</think",
    "many pieces": "```\nModelNew = [\n" * 5_000,
    "long pieces": ("```\n" + "a;" * 400 + "\nModelNew = 1\n") * 200 + "```\n(",
    "many beginnings": "import a\n" * 8_000 + "ModelNew(\n" * 8_000,
}


@pytest.mark.parametrize("text", HARD.values(), ids=HARD)
def test_no_text_takes_long(text: str) -> None:
    """By the square of their length these would take minutes; the processor's time, as others may be at work."""
    began = time.thread_time()
    extract(text)
    assert time.thread_time() - began < 5


def test_a_whole_block_is_found_after_all_else_was_tried_in_vain() -> None:
    drafts = "".join(f"```python\nmodel = ModelNew({number}\n```\n" + "words " * 200 for number in range(90))
    assert extract(f"{FENCED}\n{drafts}").source == CODE

"""What contestants are told, and that the examples in it are right."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from commands import command_here
from import_graph import parts

from kernelgauge.backends.registry import backend_named
from kernelgauge.config import load_protocol
from kernelgauge.errors import UsageError
from kernelgauge.generation.extraction import extract
from kernelgauge.generation.prompts import machine
from kernelgauge.generation.prompts.machine import cpu_here
from kernelgauge.generation.prompts.prompt import Asked, Prompts, Templates
from kernelgauge.generation.screening import refusal
from kernelgauge.hardware import gpus
from kernelgauge.hardware.driver import attributes
from kernelgauge.hardware.environment import gpu
from kernelgauge.hardware.gpus import gpu_here, gpu_named, names
from kernelgauge.problems.loader import load_problem
from kernelgauge.schema import Problem
from kernelgauge.session.session import Session

STRICT = load_protocol("strict")
PUBLISHED = load_protocol("v0.1")
RELU = load_problem("1/19")
SHOTS = {"cuda": 3, "triton": 3, "cpp": 3, "cute": 1, "thunderkittens": 1, "hip": 1, "torch": 2}
SHOTS |= dict.fromkeys(("tilelang", "gluon", "numba", "helion", "cutile", "warp", "pallas"), 2)
WITH_EXAMPLES = tuple(SHOTS)
# TileLang's tiles are for a GPU, Helion's interpreter has no products, and Numba's simulator takes minutes.
GPU_ALONE = {("tilelang", 0), ("tilelang", 1), ("numba", 0), ("numba", 1), ("helion", 1)}


def as_a_proof(name: str, number: int, device: str) -> pytest.ParameterSet:
    """About its two texts and what its language is made of, whichever languages stand beside it."""
    backend = backend_named(name)
    module = type(backend).__module__.removeprefix("kernelgauge.")
    proof = pytest.mark.proof(*parts(module, "backends"), text=repr(backend.examples()[number]))
    marks = [proof, pytest.mark.gpu] if device == "cuda" else [proof]
    return pytest.param(name, number, device, id=f"{name}-{number}-{device}", marks=marks)


PAIRS = [
    as_a_proof(name, number, device)
    for name in WITH_EXAMPLES
    for device in backend_named(name).devices
    for number in range(SHOTS[name])
    if device == "cuda" or (name, number) not in GPU_ALONE
]


def asked(backend: str = "cuda", **changes: object) -> Prompts:
    return Prompts(Asked.model_validate({"backend": backend, "protocol": STRICT, **changes}))


def hardware_section(prompt: str) -> str:
    return prompt.partition("# The GPU\n")[2].partition("\n# How it is judged")[0]


@pytest.mark.parametrize(("backend", "number", "device"), PAIRS)
def test_few_shot_examples_are_right(session: Session, backend: str, number: int, device: str) -> None:
    if reason := backend_named(backend).missing(device):
        pytest.skip(reason)
    reference, candidate = backend_named(backend).examples()[number]
    problem = Problem(key="example", name="example", source=reference)
    record = session.evaluate(problem, candidate, backend=backend, device=device, timed=False)
    assert record.passed, record.reason + record.log
    assert record.trivial_answers == ()


@pytest.mark.parametrize("backend", WITH_EXAMPLES)
def test_examples_would_not_be_refused(backend: str) -> None:
    pairs = [backend_named(backend).example(), *backend_named(backend).examples()]
    for _, candidate in pairs:
        assert refusal(extract(f"```python\n{candidate}```"), RELU, backend) is None


@pytest.mark.parametrize("backend", WITH_EXAMPLES)
def test_shots(backend: str) -> None:
    counts = {"zero_shot": 0, "one_shot": 1, "few_shot": SHOTS[backend]}
    for option, count in counts.items():
        text = asked(backend, option=option).problem(RELU)
        assert len(re.findall(r"(?m)^# Worked example", text)) == count
        assert RELU.source.strip() in text
        assert "What the evaluator does" not in text and "worked pair of reference and candidate:" not in text
        assert "kernelgauge guide" not in text and "kernelgauge/backends" not in text, "it has no shell and no disk"
        assert "kernelgauge build" not in text and "--example" not in text
    assert all(reference.strip() in text for reference, _ in backend_named(backend).examples())


def test_fences_of_a_prompt_pair_up() -> None:
    for line in asked(option="few_shot", include_hardware=True, gpu_name="H100").problem(RELU).split("\n"):
        assert line.count("```") in (0, 1) or "````" in line
    fences = re.findall(r"(?m)^```\w*$", asked(option="few_shot").problem(RELU))
    assert [fence == "```" for fence in fences] == [False, True] * (len(fences) // 2)


def test_rules_follow_the_protocol() -> None:
    strict, published = asked().problem(RELU), asked(protocol=PUBLISHED).problem(RELU)
    assert "16 times that of eager" in strict and "0.01 absolutely" in published
    assert "secret seeds" in strict and "public seed" in published
    assert "random signs" in strict and "random signs" not in published
    assert "mean of 100 calls" in published
    assert "Not allowed (`rejected`): `torch.compile`" in strict and "must run" not in strict
    required, anything = (
        asked(protocol=STRICT.under(kernel_policy=name)).problem(RELU)  # type: ignore[arg-type]
        for name in ("kernel-required", "any")
    )
    assert "a kernel of your own must run" in required and "Whatever computes the right answer counts" in anything


@pytest.mark.parametrize(
    ("math", "said"),
    [("ieee", "TF32 switched off"), ("tf32", "TF32 allowed"), ("fp16", "float16"), ("bf16", "bfloat16")],
)
def test_precision_is_said(math: str, said: str) -> None:
    assert said in asked(protocol=STRICT.under(math)).problem(RELU)  # type: ignore[arg-type]


def test_hardware_is_described_on_request() -> None:
    assert "# The GPU" not in asked().problem(RELU)
    text = asked(include_hardware=True, gpu_name="h100").problem(RELU)
    assert "| multiprocessors | 132 |" in text and "3352 GB/s" in text and "coalesced" in text
    text = asked("cpp", device="cpu", include_hardware=True).problem(RELU)
    assert "# The processor" in text and cpu_here().name in text


def test_every_known_gpu_is_described_with_its_source() -> None:
    wanted = {"L40S", "H100", "H200", "A100", "A100-80GB", "L4", "T4", "A10G", "B200", "MI300X"}
    assert wanted <= set(names())
    for name in names():
        found = gpu_named(name)
        assert len(found.source) > 10 and found.multiprocessors and found.gbs and found.shared_kib
        assert found.block_shared_kib is not None and found.block_shared_kib <= found.shared_kib
        text = hardware_section(asked(include_hardware=True, gpu_name=name).problem(RELU))
        assert f"| {found.name} |" in text and "None" not in text


def test_an_unknown_gpu_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="did you mean H100"):
        asked(include_hardware=True, gpu_name="H1000")


def test_the_name_of_a_gpu_is_never_wrong_in_silence() -> None:
    with pytest.raises(UsageError, match="did you mean H100"):
        asked(gpu_name="H1000")
    with pytest.raises(UsageError, match="is a GPU, and candidates are to run on the CPU"):
        asked("cpp", device="cpu", include_hardware=True, gpu_name="H100")
    assert "# The GPU" not in asked(gpu_name="H100").problem(RELU)


DRIVER = {
    **{"memory": 96_000_000_000, "l2": 60 * 2**20, "shared": 233_472, "block_shared": 232_448, "threads": 2048},
    **{"major": 11, "minor": 0, "multiprocessors": 20, "blocks": 32, "warp": 32},
    **{"memory_clock_khz": 4_000_000, "bus_bits": 256},
}


def test_a_gpu_without_a_data_sheet_is_described_by_its_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpus, "attributes", lambda index: DRIVER)
    monkeypatch.setattr(machine, "gpu", lambda: ("NVIDIA Thing", "600"))
    text = hardware_section(asked(include_hardware=True).problem(RELU))
    assert "| NVIDIA Thing | compute capability 11.0 |" in text
    assert "96 GB, 256 GB/s" in text and "| multiprocessors | 20 |" in text and "227 KiB a block" in text
    assert "None" not in text and "TFLOP/s" not in text


def test_no_gpu_here_asks_for_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "gpu", lambda: None)
    with pytest.raises(UsageError, match="name the one to write for"):
        asked(include_hardware=True)


@pytest.mark.gpu
def test_data_sheet_and_driver_agree() -> None:
    here, said = gpu(), attributes()
    assert here is not None and said is not None
    found = gpu_here(here[0])
    assert found.multiprocessors == said["multiprocessors"]
    assert (found.threads, found.blocks, found.warp) == (said["threads"], said["blocks"], said["warp"])
    assert (found.shared_kib, found.block_shared_kib) == (said["shared"] >> 10, said["block_shared"] >> 10)


def test_templates_can_be_overridden_one_by_one(tmp_path: Path) -> None:
    (tmp_path / "task.md.j2").write_text("Speed up {{ problem.name }} on {{ device }}, please.\n")
    text = asked(templates=tmp_path).problem(RELU)
    assert text.startswith("Speed up relu on cuda, please.\n\n# How a candidate in CUDA C++")
    (tmp_path / "task.md.j2").write_text("{{ nothing }}")
    with pytest.raises(UsageError, match=r"prompt\.md\.j2.*nothing"):
        asked(templates=tmp_path).problem(RELU)


def test_wrong_questions_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="templates"):
        asked(templates=tmp_path / "missing")
    with pytest.raises(UsageError, match="unknown backend"):
        asked("fortran")


def test_a_refusal_says_why_and_what_to_do() -> None:
    text = Templates().refused("the file defines no ModelNew.", cut_off=True)
    assert text.startswith("Your answer was not judged: the file defines no ModelNew.\n")
    assert "more briefly" in text and "```` ```python ````" in text
    assert "more briefly" not in Templates().refused("x")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("No.", "no code block"),
        ("```python\nclass ModelNew(:\n```", "line 1"),
        ("```python\nclass Model: ...\n```", "no ModelNew"),
        ("```python\nimport triton\nclass ModelNew: ...\n```", "written for triton"),
        (
            "```python\nload(name='f', sources=['k.cu'])\nclass ModelNew: ...\n```",
            "compiles k.cu, which it does not hold",
        ),
        (
            "```python\nimport kernelgauge.problems\nclass ModelNew:\n    x = load_inline(cuda_sources='x')\n```",
            "line 1 breaks the rule imports_evaluator",
        ),
    ],
)
def test_what_cannot_be_judged_is_refused_with_the_reason(answer: str, said: str) -> None:
    assert said in (refusal(extract(answer), RELU, "cuda") or "")


def test_the_command_prints_the_prompt_and_nothing_else() -> None:
    command = ["prompt", "1/19", "--backend", "cuda", "--shots", "few_shot"]
    done = command_here(*command, "--sizes", "full", "--gpu", "H200")
    assert done.stdout == asked(option="few_shot", include_hardware=True, gpu_name="H200").problem(RELU)
    assert done.stderr == ""
    wrong = command_here(*command, "--gpu", "H2000")
    assert wrong.returncode == 2 and "H200" in wrong.stderr


def test_where_a_gpu_is_named_the_prompt_is_for_it() -> None:
    """Whatever the machine has on which it is printed."""
    command = ["prompt", "1/23", "--shots", "few_shot", "--gpu", "H100"]
    said = command_here(*command).stdout
    expected = asked(option="few_shot", include_hardware=True, gpu_name="H100").problem(load_problem("1/23"))
    assert said == expected and "on a GPU, with kernels written in CUDA C++" in said
    for where in (["--device", "cpu"], ["--backend", "cpp"]):
        wrong = command_here(*command, *where)
        assert wrong.returncode == 2 and "leave one of the two out" in wrong.stderr

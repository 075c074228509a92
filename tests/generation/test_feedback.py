"""What a contestant hears of its earlier answers: short, about its own lines, and a function of the history."""

from __future__ import annotations

import pytest
import torch
from factories import make_evaluation

from kernelgauge.checks.differences import difference
from kernelgauge.config import load_protocol
from kernelgauge.generation.feedback.errors import compiler_errors, errors
from kernelgauge.generation.feedback.verdict import facts, told
from kernelgauge.generation.ideas import ideas_in
from kernelgauge.generation.prompts.conversation import conversation
from kernelgauge.generation.prompts.prompt import Templates
from kernelgauge.schema import Attempt, Bound, Evaluation, Feedback, Step, Trial, Work
from kernelgauge.session.session import Session

TEMPLATES = Templates()
GCC = """/tmp/x/main.cpp:9:11: error: ‘flaot’ does not name a type; did you mean ‘float’?
/tmp/x/main.cpp:17:13: error: ‘nothing_here’ was not declared in this scope
  File "/tmp/scratch/candidate.py", line 3, in <module>
    kernels = load_inline(
RuntimeError: Error building extension 'k': [1/2] c++ -MMD -MF main.o.d -c /tmp/x/main.cpp -o main.o
FAILED: main.o
/tmp/x/main.cpp: In function ‘at::Tensor k(at::Tensor)’:
/tmp/x/main.cpp:9:11: error: ‘flaot’ does not name a type; did you mean ‘float’?
    9 |     const flaot* in = x.data_ptr<float>();
      |           ^~~~~
      |           float
/tmp/x/main.cpp:17:13: error: ‘nothing_here’ was not declared in this scope
   17 |     int q = nothing_here(3);
      |             ^~~~~~~~~~~~
ninja: build stopped: subcommand failed.
"""
NVCC = """/tmp/x/cuda.cu(4): error: identifier "m" is undefined
    if (i < m) x[i] = 2.0f * y[i];
            ^

/tmp/x/cuda.cu(5): error #20: identifier "foo" is undefined
    foo(x);
    ^

2 errors detected in the compilation of "/tmp/x/cuda.cu".
"""
SOURCE = '''import torch
from torch.utils.cpp_extension import load_inline
KERNEL = r"""
    if (i < m) x[i] = 2.0f * y[i];
    const flaot* in = x.data_ptr<float>();
    int q = nothing_here(3);
"""
'''


# ---------------------------------------------------------------- errors


def test_errors_of_gcc_are_shown_with_the_candidate_s_own_lines() -> None:
    said = errors(GCC, SOURCE)
    assert said.splitlines() == [
        "error: ‘flaot’ does not name a type; did you mean ‘float’?",
        "     4 |     if (i < m) x[i] = 2.0f * y[i];",
        ">    5 |     const flaot* in = x.data_ptr<float>();",
        "     6 |     int q = nothing_here(3);",
        "error: ‘nothing_here’ was not declared in this scope",
        "     5 |     const flaot* in = x.data_ptr<float>();",
        ">    6 |     int q = nothing_here(3);",
        '     7 | """',
    ]


def test_errors_of_nvcc_are_shown_with_what_it_quotes_where_the_line_is_not_found() -> None:
    found = compiler_errors(NVCC)
    assert [(e.file, e.line, e.code) for e in found] == [
        ("cuda.cu", 4, "if (i < m) x[i] = 2.0f * y[i];"),
        ("cuda.cu", 5, "foo(x);"),
    ]
    said = errors(NVCC, SOURCE)
    assert ">    4 |     if (i < m) x[i] = 2.0f * y[i];" in said
    assert 'cuda.cu:5: error: identifier "foo" is undefined\n    foo(x);' in said


def test_a_flood_of_errors_is_cut() -> None:
    log = "\n".join(f"a.cpp:{n}:1: error: bad thing {n}" for n in range(40))
    said = errors(log, "")
    assert said.count("error:") == 5 and said.endswith("and 35 further errors")


def test_linkers_and_tracebacks_are_read_too() -> None:
    link = (
        "/usr/bin/ld: main.o: undefined reference to `launch(float*)'\ncollect2: error: ld returned 1 exit status\n"
    )
    assert "undefined reference to `launch" in errors(link, "")
    raised = (
        'Traceback (most recent call last):\n  File "/x/worker.py", line 9, in run\n    f()\n'
        '  File "/scratch/w/candidate.py", line 2, in forward\n    y = x.nope()\n'
        "AttributeError: 'Tensor' object has no attribute 'nope'\n"
    )
    said = errors(raised, "def forward(x):\n    y = x.nope()\n    return y\n")
    assert said.startswith("AttributeError: 'Tensor' object has no attribute 'nope'\nin forward:")
    assert ">    2 |     y = x.nope()" in said
    assert errors("nothing of the kind", SOURCE) == ""


@pytest.mark.processes
def test_a_real_traceback_reaches_the_feedback(session: Session) -> None:
    source = (
        "import torch\n\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, x, w, b):\n"
        "        y = x + 1\n        return torch.no_such_function(y)\n"
    )
    reference = (
        "import torch\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return x + 1\n"
        "def get_inputs():\n    return [torch.rand(4, 8)]\ndef get_init_inputs():\n    return []\n"
    )
    from kernelgauge.schema import Problem

    problem = Problem(key="own", name="own", source=reference)
    verdict = session.evaluate(problem, source.replace("x, w, b", "x"), timed=False)
    assert verdict.outcome == "runtime_error"
    said = errors(verdict.log, source)
    assert ">    7 |         return torch.no_such_function(y)" in said and "AttributeError" in said
    # Raised by the call itself: no line of the candidate has a part in it.
    verdict = session.evaluate(problem, source, timed=False)
    assert verdict.reason.startswith("forward: TypeError") and "worker/candidate.py" in verdict.log
    assert errors(verdict.log, source + "\n" * 1000) == ""


# ---------------------------------------------------------------- verdicts in words


def wrong_trial() -> Trial:
    right = torch.randn(16, 33, generator=torch.Generator().manual_seed(1)).double()
    got = right.clone()
    got[:, 32:] = 0
    found = difference([got.float()], [right], load_protocol("strict").tolerance, 1e-5)
    return Trial(variant="own", error=0.2, allowed=1e-5, reference_error=1e-7, agreed=False, difference=found)


def judged(level: Feedback, verdict: Evaluation, **changes: object) -> str:
    attempt = Attempt(answer="a", source=SOURCE, evaluation=verdict).model_copy(update=changes)
    return TEMPLATES.filled("judged.md.j2", **facts(attempt, level))


def test_wrong_elements_are_told_by_call_region_and_pattern() -> None:
    agreed = Trial(variant="own", error=1e-7, allowed=1e-5, reference_error=1e-7, agreed=True)
    text = judged("G+E", make_evaluation("1/1", None, "wrong_value", trials=(agreed, wrong_trial())))
    assert "shape [16, 33]: 16 of 528 (3.03 %) elements are wrong, in [0..15, 32]." in text
    assert "Only indices from 32 on in dimension 1 (of size 33): a tail" in text
    assert "All wrong elements are zero" in text and "The first of them: [0, 32] is 0, due" in text
    assert "call 1 (own inputs) agreed" in text and "call 2 (own inputs) did not agree: error 0.2" in text
    assert "Correct that first" in text


def test_a_whole_wrong_output_is_told_in_one_sentence() -> None:
    right = torch.randn(3, 4).double()
    found = difference([right, right * 2], [right, right], load_protocol("strict").tolerance, 1e-5)
    assert found is not None
    assert told(found)[:2] == [
        "output 1, shape [3, 4]: all elements are wrong.",
        "The output is 2 times the right output.",
    ]


def test_levels_of_feedback() -> None:
    verdict = make_evaluation("1/1", 1.5)
    bound = Bound(
        bound_ms=0.5,
        bytes_ms=0.5,
        flops_ms=0.1,
        binding="memory",
        share=0.375,
        headroom=4.0,
        work=Work(inputs=1, parameters=0, outputs=1),
        rate="fp32",
        peaks="measured",
    )
    verdict = verdict.model_copy(update={"bound": bound})
    plain, told_so, profiled = (judged(level, verdict, profile="a table") for level in ("G", "G+E", "G+E+P"))
    assert "1.5 times as fast" not in plain and "passed" not in plain and "make it faster" in plain
    assert "1.5 times as fast" in told_so and "a table" not in told_so
    assert "0.5 ms at best, for moving its bytes" in told_so and "37.5 % of that" in told_so
    assert "a table" in profiled
    for text in (plain, told_so, profiled):
        assert text.endswith("```` ```python ````.\n")


def test_feedback_is_short_however_long_the_log() -> None:
    noise = "\n".join(f"/usr/include/torch/x.h:{n}: note: candidate expects {n} arguments" * 3 for n in range(3000))
    text = judged("G+E", make_evaluation("1/1", None, "build_failed", log=noise + "\n" + GCC))
    assert "flaot" in text and len(text) < 2500
    text = judged("G+E", make_evaluation("1/1", None, "build_failed", log=noise))
    assert len(text) < 3500


# ---------------------------------------------------------------- conversations


def told_at(history: list[Attempt], **step: object) -> list[tuple[str, str]]:
    return [tuple(said) for said in conversation("PROMPT", history, Step(**step), TEMPLATES)]  # type: ignore[arg-type,misc]


def test_a_conversation_follows_the_steps_that_led_to_it() -> None:
    history = [
        Attempt(answer="A0", refusal="no code.", cut_off=True),
        Attempt(answer="A1", source="x", step=Step(after=0), evaluation=make_evaluation("1/1", 2.0)),
        Attempt(answer="A2", source="y", evaluation=make_evaluation("1/1", 3.0)),
    ]
    said = told_at(history, after=1)
    assert [role for role, _ in said] == ["user", "assistant", "user", "assistant", "user"]
    assert [said[n][1] for n in (0, 1, 3)] == ["PROMPT\n", "A0", "A1"]
    assert "no code." in said[2][1] and "more briefly" in said[2][1] and "2 times as fast" in said[4][1]
    assert "A2" not in str(said)
    assert told_at(history) == [("user", "PROMPT\n")]


def test_a_conversation_shows_what_was_given_and_does_not_put_it_in_the_contestants_mouth() -> None:
    right = Attempt(answer="A", source="GIVEN", evaluation=make_evaluation("1/1", 2.0))
    start = right.model_copy(update={"given": "inductor"})
    ((role, text),) = told_at([start], after=0)
    assert role == "user" and "GIVEN" in text and "keep it right, and make it faster" in text
    answer = right.model_copy(update={"step": Step(after=0)})
    first, second, third = told_at([start, answer], after=1)
    assert first == ("user", text) and second == ("assistant", "A") and third[0] == "user"
    ((_, ideas),) = told_at([start], asks="ideas", count=3, after=0, fresh=True)
    assert ideas.index("GIVEN") < ideas.index("Do not write the file yet")


def test_a_new_conversation_shows_parent_and_inspirations() -> None:
    history = [
        Attempt(answer="A0", source="PARENT", evaluation=make_evaluation("1/1", None, "wrong_value")),
        Attempt(answer="A1", source="OTHER", evaluation=make_evaluation("1/1", 2.0)),
        Attempt(answer="A2", refusal="no code."),
    ]
    ((role, text),) = told_at(history, after=0, fresh=True, inspirations=(1, 2))
    assert role == "user" and text.index("PARENT") < text.index("wrong_value") < text.index("OTHER")
    assert "right, 2 times as fast as the reference" in text and "correct what is wrong" in text
    plain = told_at(history, after=0, fresh=True, inspirations=(1,), feedback="G")[0][1]
    assert "wrong_value" not in plain and "times as fast" not in plain and "OTHER" in plain


def test_ideas_are_asked_for_and_then_carried_out() -> None:
    ((_, text),) = told_at([], asks="ideas", count=3)
    assert "3 different ideas" in text and "No code" in text
    thoughts = Attempt(step=Step(asks="ideas"), answer="...", ideas=("fuse it", "tile it"))
    ((_, text),) = told_at([thoughts], idea=(0, 1))
    assert text.startswith("PROMPT") and "tile it" in text and "fuse it" not in text


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ("1. Fuse it.\n2. Tile it,\n   by 32.\n", ("Fuse it.", "Tile it, by 32.")),
        ("Sure:\n\n**Idea 1:** Fuse.\n- saves bytes\n\n**Idea 2:** Tile.\n", ("Fuse. - saves bytes", "Tile.")),
        ("### 1) Fuse\nIn one pass.\n### 2) Tile\n", ("Fuse In one pass.", "Tile")),
        ("- Fuse it\n- Tile it\n", ("Fuse it", "Tile it")),
        ("<think>1. no\n2. no</think>\n1. Fuse it", ("Fuse it",)),
        ("1. no\n2. no\n</think>\n1. Fuse it", ("Fuse it",)),
        ("1. Fuse it, for\n3.5 times fewer bytes.\n2. Tile", ("Fuse it, for 3.5 times fewer bytes.", "Tile")),
        ("### Idea 1 - Fuse\nIn one pass.\n### Idea 2 – Tile\n", ("Fuse In one pass.", "Tile")),
        ("Just fuse\nit.", ("Just fuse it.",)),
        ("", ()),
    ],
)
def test_ideas_in_an_answer(answer: str, found: tuple[str, ...]) -> None:
    assert ideas_in(answer) == found

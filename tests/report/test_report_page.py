"""The page in a real browser: used, with strings that want to be code, and with thousands of attempts."""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from browser import BROWSER, Browser, texts_in
from factories import BOUND, FIVE, KERNEL, make_answer, make_environment, make_evaluation, make_header, make_run

from kernelgauge.errors import StoreError
from kernelgauge.report import score
from kernelgauge.report.page import document
from kernelgauge.report.page.compress import packed
from kernelgauge.report.page.document import render_html, write_html
from kernelgauge.report.page.payload import embed
from kernelgauge.report.page.truncate import cut
from kernelgauge.schema import (
    Attempt,
    AttemptRecord,
    Difference,
    Evaluation,
    NoCandidate,
    Profile,
    ProfileRow,
    Spent,
    Step,
    TooLarge,
    WrongElement,
)
from kernelgauge.schema.rules import Finding
from kernelgauge.store import Run

pytestmark = pytest.mark.processes

needs_browser = pytest.mark.skipif(BROWSER is None, reason="neither chromium nor google-chrome is on PATH")

EVIL = "</script><script>document.title='owned'</script><img src=x onerror=document.title='owned'><!--<script>"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as made:
        yield made


def rendered(evaluations: list[Evaluation], path: Path, source: str = "class ModelNew: ...\n") -> Path:
    page = render_html(score(evaluations, header=make_header()), evaluations, lambda digest: source)
    path.write_text(page, encoding="utf-8")
    return path


def rows_and_details(page: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The rows of a page's table, and what they open to."""
    found = re.search(r'<script type="application/json" id="overview">(.*?)</script>', page.read_text(), re.DOTALL)
    assert found is not None
    return json.loads(found[1])["rows"], texts_in(page, "details")


def test_packed_lines_are_the_same_lines(tmp_path: Path) -> None:
    draw = random.Random(1)
    values = ["x" * draw.randrange(90_000) + chr(8232) + EVIL for _ in range(20)]
    text = packed(document.Markup("\n".join(map(json.dumps, values))))
    assert len(json.loads(text.split("\n")[0])["packed"]) > 3
    assert not set("<>&") & set(text)
    page = tmp_path / "page.html"
    page.write_text(f'<script type="application/json" id="texts">{text}</script>')
    assert texts_in(page) == values
    assert packed(document.Markup("")) == '{"packed": []}'


def test_embedded_json_cannot_leave_its_element() -> None:
    text = embed({"a": EVIL, "b": math.inf, "c": "\u2028é"})
    assert not set("<>&") & set(text)
    assert json.loads(text) == {"a": EVIL, "b": None, "c": "\u2028é"}


def test_the_page_needs_nothing_from_outside(tmp_path: Path) -> None:
    page = rendered(FIVE, tmp_path / "report.html").read_text()
    without_namespace = page.replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?://|//cdn|@import|url\(|<link[^>]+stylesheet", without_namespace)
    assert "default-src 'none'" in page


def test_a_run_is_written_with_its_sources_and_references(tmp_path: Path) -> None:
    with Run.create(tmp_path / "run", make_header()) as run:
        run.append(*make_answer("1/1", source="# the answer\n"))
    page = tmp_path / "report.html"
    found = write_html(Run.read(tmp_path / "run"), page, {"1/1": "# the reference\n"})
    assert found.overall.problems == 1
    assert texts_in(page) == ["# the answer\n", "# the reference\n"]
    with pytest.raises(StoreError, match="cannot be"):
        write_html(Run.read(tmp_path / "run"), tmp_path / "report.html" / "below.html")


def test_a_page_that_would_be_too_large_keeps_the_best_and_the_last_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document, "MOST_SOURCES", 700)
    draw = random.Random(2)
    answers = [
        make_answer("1/1", source=f"# {sample} {draw.randbytes(200).hex()}\n", sample=sample, speedup=speedup)
        for sample, speedup in enumerate((1.0, 1.5, 2.0, 1.2, 1.1))
    ]
    sources = {candidate.digest: candidate.source for _, candidate in answers}
    evaluations = [evaluation for evaluation, _ in answers]
    page = tmp_path / "report.html"
    page.write_text(render_html(score(evaluations), evaluations, sources.get))
    assert [text[:3] for text in texts_in(page)] == ["# 2", "# 4"]


def test_what_is_cut_says_how_much_and_where_the_whole_lies() -> None:
    assert cut("abc", 3, "there") == "abc"
    said = "\n[cut here: 96 of 100 characters are left out of this page; the whole is in there]\n"
    assert cut("a" * 50 + "b" * 50, 4, "there") == f"aaa{said}b"
    assert cut("a" * 50 + "b" * 50, 4, "there", head=0) == f"{said.lstrip()}bbbb"


def test_sources_are_cut_before_they_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The best and the last stay whole; of the others the ends are there, and where the whole lies."""
    monkeypatch.setattr(document, "MOST_SOURCES", 400_000)
    draw = random.Random(3)
    sources = [f"# {n}\n{draw.randbytes(50_000).hex()}\n# end {n}\n" for n in range(8)]
    with Run.create(tmp_path / "run", make_header()) as run:
        for sample, speedup in enumerate((1.0, 2.0, 1.5, 1.2)):
            run.append(*make_answer("1/1", source=sources[sample], sample=sample, speedup=speedup))
        for number, source in enumerate(sources[4:]):
            names = {"problem": "1/2", "problem_digest": "fe", "sample": 0, "number": number}
            run.append_attempt(AttemptRecord(**names, attempt=Attempt(answer="?", source=source, refusal="no")))
    run = Run.read(tmp_path / "run")
    write_html(run, tmp_path / "report.html")
    shown = texts_in(tmp_path / "report.html")
    whole = {n for n, source in enumerate(sources) if source in shown}
    assert whole == {1, 3, 7} and len(shown) == 8
    first = next(text for text in shown if text.startswith("# 0"))
    digest = make_answer("1/1", source=sources[0])[1].digest
    (said,) = re.findall(r"\[cut here: .*\]", first)
    gone = len(sources[0]) - 20_000
    assert said.startswith(f"[cut here: {gone:,} of {len(sources[0]):,} characters are left out of this page; ")
    assert said.endswith(f"the whole is in candidates/{digest}.py of the run run]") and first.endswith("# end 0\n")
    assert any("attempts.jsonl (1/2, sample 0, attempt 0) of the run run]" in text for text in shown)


def test_long_words_beside_a_candidate_are_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = make_evaluation(
        "1/1", outcome="runtime_error", reason="R" * 9000, log="x" * 9000 + "the end", notes=("n" * 9000,)
    )
    page = tmp_path / "report.html"
    (row,), (detail,) = rows_and_details(rendered([long], page))
    assert len(row["reason"]) == 300 and row["reason"].endswith("…")
    assert "cut here: 7,000 of 9,000" in detail["reason"] and "cut here: 7,000 of 9,000" in detail["notes"][0]
    where = f"the whole is in evaluations.jsonl of the run, record {long.id}]"
    assert detail["log"].startswith("[cut here: 3,007 of 9,007") and where in detail["log"]
    assert detail["log"].endswith("the end")
    monkeypatch.setattr(document, "MOST_DETAILS", 100)
    _, (detail,) = rows_and_details(rendered([long], page))
    assert len(detail["log"]) < 500 and detail["log"].endswith("the end")


# In a browser


@needs_browser
def test_a_long_reason_is_read_where_its_row_opens(tmp_path: Path, browser: Browser) -> None:
    failed = make_evaluation("1/1", outcome="runtime_error", reason="R" * 1500)
    browser.open(rendered([failed], tmp_path / "report.html"), "#1/1")
    browser.wait("document.querySelector('.verdict').textContent.endsWith('R'.repeat(1500) )")
    assert browser.said == []


@needs_browser
def test_the_rows_appear_and_a_linked_problem_is_open(tmp_path: Path, browser: Browser) -> None:
    page = rendered(FIVE, tmp_path / "report.html", source="import torch  # a comment\n")
    browser.open(page, "#1/2")
    dom = browser.js("document.documentElement.outerHTML")
    assert dom.count('<tr class="row">') == 5
    assert dom.count('class="open" aria-expanded="true"') == 1
    assert "Correct; as fast as the reference, as far as can be told" in dom
    assert '<span class="h-k">import</span>' in dom and '<span class="h-c"># a comment</span>' in dom
    assert 'class="median"' in dom and 'class="line all c-all"' in dom
    assert browser.said == []


@needs_browser
@pytest.mark.parametrize("evaluations", [[], FIVE[3:]], ids=["empty", "only failures"])
def test_a_page_without_speeds_opens_too(tmp_path: Path, browser: Browser, evaluations: list[Evaluation]) -> None:
    browser.open(rendered(evaluations, tmp_path / "report.html"))
    assert "No correct candidate has been timed." in browser.js("document.body.textContent")
    assert browser.js("document.querySelectorAll('tr.row').length") == len(evaluations)
    assert browser.said == []


@needs_browser
def test_what_a_contestant_writes_never_runs(tmp_path: Path, browser: Browser) -> None:
    hostile = make_evaluation(
        "1/1",
        outcome="rejected",
        reason=EVIL,
        rule=EVIL,
        problem_name=EVIL,
        backend=EVIL,
        contestant=EVIL,
        log=EVIL,
        notes=(EVIL,),
        seconds={EVIL: 1.0},
        environment=make_environment(gpu=EVIL),
    )
    weak = make_evaluation(EVIL, 2.0, trivial_answers=(EVIL,), level=None)
    found = score(
        [hostile, weak],
        [NoCandidate(problem=EVIL + "2", contestant="folder:answers", reason=EVIL)],
        make_header(contestant=EVIL, command=EVIL),
    )
    page = tmp_path / "report.html"
    page.write_text(render_html(found, [hostile, weak], lambda digest: EVIL, {"1/1": EVIL}), encoding="utf-8")
    browser.open(page, "#1/1")
    dom = browser.js("document.documentElement.outerHTML")
    assert "<img" not in dom
    assert browser.js("document.title") == f"{EVIL} – kernelgauge"
    assert dom.count("<script") == 4
    assert dom.count('<tr class="row">') == 3
    assert "Rejected: &lt;/script&gt;" in dom
    assert "&lt;/script&gt;" in browser.js("document.querySelector('pre.source').innerHTML")
    assert browser.said == []


@needs_browser
def test_what_is_never_closed_is_coloured_in_linear_time(browser: Browser) -> None:
    script = resources.files("kernelgauge.report.page").joinpath("templates/highlight.js").read_text(encoding="utf-8")
    browser.js(f"(() => {{ {script}; window.tokens = (text) => tokens(text, PYTHON); }})()")
    browser.js("""window.took = (count) => {
        const text = 'x = \"\"\";\\n' + '/* '.repeat(count) + '\"\"\"\\ny = \"\"\"z';
        const began = performance.now(), found = tokens(text);
        if (found.map((each) => each[1]).join('') !== text) throw 'other text';
        return performance.now() - began;
    }""")
    least = "Math.min(...[1, 2, 3, 4, 5].map(() => took(COUNT)))"
    short, long = (browser.js(least.replace("COUNT", str(count))) for count in (16000, 128000))
    assert long < 20 * max(short, 20), "64 times as long in quadratic time"


@needs_browser
def test_attempts_are_drawn_compared_and_linked(tmp_path: Path, browser: Browser) -> None:
    first, second = KERNEL.replace("NUMBER", "0"), KERNEL.replace("NUMBER", "1").replace("256", "512")
    answers = [
        make_answer("1/1", source=first, sample=0, outcome="build_failed"),
        make_answer("1/1", source=second, sample=1, speedup=1.5),
        make_answer("1/1", source=second, sample=2, speedup=0.8),
        make_answer("1/2", source=first),
    ]
    sources = {candidate.digest: candidate.source for _, candidate in answers}
    evaluations = [evaluation for evaluation, _ in answers]
    page = tmp_path / "report.html"
    page.write_text(render_html(score(evaluations), evaluations, sources.get), encoding="utf-8")
    browser.open(page, "#1/1~1")
    browser.wait("document.querySelectorAll('.attempts g').length == 3")
    changed = "[...document.querySelectorAll('.diff .d-gone, .diff .d-new')].map((line) => line.textContent.trim())"
    assert browser.js(changed) == [
        "−     __shared__ float shared[256];",
        "+     __shared__ float shared[512];",
        '−     """Answer 0."""',
        '+     """Answer 1."""',
    ]
    assert "Changes since attempt 0 (build failed): +2 −2 lines" in browser.js("document.body.textContent")
    browser.js("document.querySelectorAll('.attempts g')[2].dispatchEvent(new MouseEvent('click'))")
    browser.wait("document.querySelectorAll('.detail .detail-grid').length == 2")
    assert browser.js("location.hash") == "#1%2F1~2"
    assert browser.js("document.querySelectorAll('.diff').length") == 1, "the second has the same text as the first"
    browser.js("document.querySelectorAll('.attempts g')[0].focus()")
    browser.press("Enter")
    browser.wait("location.hash == '#1%2F1'")
    browser.open(page, "#1/2")
    assert browser.js("document.querySelectorAll('.attempts, .diff').length") == 0
    assert browser.said == []


@needs_browser
def test_what_led_to_an_answer_can_be_followed(tmp_path: Path, browser: Browser) -> None:
    texts = [KERNEL.replace("256", str(size)) for size in (128, 256, 512)]
    with Run.create(tmp_path / "run", make_header()) as run:
        evaluation, candidate = make_answer("1/1", source=texts[2], speedup=2.0)
        run.append(evaluation, candidate)
        paid = Spent(calls=1, tokens_read=1200)
        tried = [
            Attempt(answer="?", source=texts[0], refusal="never defines ModelNew", spent=paid),
            Attempt(
                step=Step(after=0), answer="?", source=texts[1], evaluation=make_evaluation(outcome="wrong_value")
            ),
            Attempt(step=Step(after=1), answer="?", source=texts[2], evaluation=evaluation),
        ]
        for number, attempt in enumerate(tried):
            names = {"problem": "1/1", "problem_digest": evaluation.problem_digest, "sample": 0, "number": number}
            run.append_attempt(AttemptRecord(**names, attempt=attempt))
    write_html(Run.read(tmp_path / "run"), tmp_path / "report.html")
    browser.open(tmp_path / "report.html", "#1/1")
    browser.wait("document.querySelector('.tried .diff')")
    browser.wait("document.querySelectorAll('.attempts g').length == 3")
    changed = "[...document.querySelectorAll('.tried .d-gone, .tried .d-new')].map((line) => line.textContent.trim())"
    assert browser.js(changed) == ["−     __shared__ float shared[256];", "+     __shared__ float shared[512];"]
    browser.js("document.querySelector('.attempts g').dispatchEvent(new MouseEvent('click'))")
    browser.wait("document.querySelector('.tried').textContent.includes('never defines ModelNew')")
    assert "Asked afresh; 1,200 tokens" in browser.js("document.querySelector('.tried p').textContent")
    assert browser.js("document.querySelector('.detail select').value") == "0"
    assert "shared[128]" in browser.js("document.querySelector('.tried pre').textContent")
    assert browser.said == []


@needs_browser
def test_a_problem_without_a_candidate_opens_like_any_other(tmp_path: Path, browser: Browser) -> None:
    """None was given, the run was stopped, it does not fit: each says why, and shows what there is."""
    texts = [KERNEL.replace("256", str(size)) for size in (128, 512)]
    with Run.create(tmp_path / "run", make_header(problems=("1/1", "1/2", "1/3", "1/4", "1/5"))) as run:
        run.append(*make_answer("1/1"))
        run.append_skip(NoCandidate(problem="1/2", level=1, contestant="folder:answers", reason="it gave no code"))
        run.append_too_large(TooLarge(problem="1/4", level=1, sizes="full", reason="it needs 200 GB of 80 GB"))
        for problem, sample in (("1/2", 0), ("1/3", 1)):
            for number, text in enumerate(texts):
                step = Step(after=number - 1 if number else None)
                attempt = Attempt(step=step, answer="?", source=text, refusal="it never defines ModelNew")
                names = {"problem": problem, "problem_digest": "fe", "sample": sample, "number": number}
                run.append_attempt(AttemptRecord(**names, attempt=attempt))
    page = tmp_path / "report.html"
    write_html(Run.read(tmp_path / "run"), page, {f"1/{n}": f"# the reference of 1/{n}\n" for n in range(1, 6)})
    said = {
        "#1/2": ("No candidate: it gave no code", 2),
        "#1/3~1": ("Pending: 2 attempts were made, and the run was stopped before", 2),
        "#1/4": ("Too large: it needs 200 GB", 0),
    }
    for anchor, (reason, attempts) in said.items():
        browser.open(page, anchor)
        browser.wait("document.querySelector('.rest pre.source')")
        text = browser.js("document.querySelector('.detail').textContent")
        assert reason in text and f"the reference of {anchor[1:4]}" in text
        assert browser.js("document.querySelectorAll('.attempts g').length") == attempts
        if attempts:
            browser.wait("document.querySelector('.tried .diff')")
            assert "What was tried" in text and "it never defines ModelNew" in text
            browser.js("document.querySelector('.attempts g').dispatchEvent(new MouseEvent('click'))")
            browser.wait("document.querySelector('.tried pre')?.textContent.includes('shared[128]')")
    assert browser.js("document.querySelectorAll('tr.row').length") == 4
    assert browser.said == []


@needs_browser
def test_wrong_elements_are_told(tmp_path: Path, browser: Browser) -> None:
    element = WrongElement(index=(0, 64), got=1.5, due=3.0)
    difference = Difference(
        output=0, shape=(33, 65), wrong=33, region=((0, 32), (64, 64)), first=(element,), hints=("a tail",)
    )
    wrong = make_evaluation("1/1", outcome="wrong_value")
    trial = wrong.trials[0].model_copy(update={"difference": difference})
    browser.open(rendered([wrong.model_copy(update={"trials": (trial,)})], tmp_path / "report.html"), "#1/1")
    said = "own: 33 elements of 33 × 65 are wrong, the first at [0, 64] is 1.50 where 3.00 is due; a tail."
    assert browser.js("document.querySelector('.wrong').textContent") == said


@needs_browser
def test_a_difference_turns_one_text_into_the_other(browser: Browser, tmp_path: Path) -> None:
    script = (Path(document.__file__).parent / "templates" / "diff.js").read_text()
    blank = tmp_path / "blank.html"
    blank.write_text("<script>document.documentElement.dataset.ready = 1</script>")
    browser.open(blank)
    draw = random.Random(3)
    for _ in range(60):
        before = [draw.choice("abcdef") for _ in range(draw.randrange(12))]
        after = [line for line in before if draw.random() < 0.7]
        for _ in range(draw.randrange(5)):
            after.insert(draw.randrange(len(after) + 1), draw.choice("abcxyz"))
        texts = json.dumps("\n".join(before)), json.dumps("\n".join(after))
        found = browser.js(f"(() => {{ {script}; return lineDiff({texts[0]}, {texts[1]}); }})()")
        assert [line for kind, line in found if kind != "new"] == "\n".join(before).split("\n")
        assert [line for kind, line in found if kind != "gone"] == "\n".join(after).split("\n")
    shortest = browser.js(f"(() => {{ {script}; return lineDiff('a\\nb\\nc', 'b\\nc\\nd'); }})()")
    assert [kind for kind, _ in shortest] == ["gone", "same", "same", "new"]
    unlike = browser.js(
        f"(() => {{ {script}; const of = (c) => Array(3000).fill(c).map((c, i) => c + i).join('\\n');"
        " const found = lineDiff(of('a'), of('b')); return [found.length, found[0][0], found.at(-1)[0]]; })()"
    )
    assert unlike == [6000, "gone", "new"]


@needs_browser
def test_headroom_has_a_dot_for_every_bound_and_opens_it(tmp_path: Path, browser: Browser) -> None:
    no_flops = BOUND.model_copy(update={"work": BOUND.work.model_copy(update={"flops": None})})
    evaluations = [
        make_evaluation("1/1", 2.0, bound=BOUND),
        make_evaluation("1/2", 0.7, bound=no_flops),
        make_evaluation("1/3", 1.5),
    ]
    browser.open(rendered(evaluations, tmp_path / "report.html"))
    assert browser.js("document.querySelectorAll('.roofline .dots circle').length") == 2
    assert "reaches 50\u00a0% of what the hardware allows, the reference 25" in browser.js(
        "document.body.textContent"
    )
    box = "document.querySelector('.roofline .dots .s-faster').getBoundingClientRect()"
    browser.js("document.querySelector('.roofline').scrollIntoView()")
    x, y = browser.js(f"[{box}.x + 3, {box}.y + 3]")
    for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
        browser.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
    browser.wait("document.querySelector('.meter') && !document.querySelector('[aria-busy]')")
    said = browser.js("document.querySelector('.detail').textContent")
    assert "50.0 %" in said and "4.00× over the reference" in said and "2 MFLOP in fp32, 4.00 a byte" in said
    assert "50.0 %: 500 MB/s, 2 GFLOP/s" in said and "at the bound1 GB/s, with" in said, "as data sheets have it"
    assert browser.js("document.querySelector('.open[aria-expanded=true]').textContent").startswith("1/1")
    browser.open(rendered(FIVE, tmp_path / "report.html"))
    assert not browser.js("Boolean(document.querySelector('#headroom, #roofline'))")
    assert browser.said == []


@needs_browser
def test_a_small_share_of_the_bound_is_not_told_as_none(tmp_path: Path, browser: Browser) -> None:
    shares = (0.0032, 0.0099, 0.034, 0.0996, 0.999)
    work = BOUND.work.model_copy(update={"flops": None})
    bounds = [BOUND.model_copy(update={"work": work, "share": share}) for share in shares]
    evaluations = [make_evaluation(f"1/{n}", bound=bound) for n, bound in enumerate(bounds, 1)]
    browser.open(rendered(evaluations, tmp_path / "report.html"))
    cells = "[...document.querySelectorAll('tr.row')].map((row) => row.cells[5].textContent)"
    assert browser.js(cells) == ["0.3 %", "1 %", "3.4 %", "10 %", "100 %"]


@needs_browser
def test_a_speedup_that_is_no_quotient_of_medians_says_so(tmp_path: Path, browser: Browser) -> None:
    """Calls of 3/15 vary: 15.4 ms over 14.6 ms is 1.06, and over pairs of calls it is 1.02."""
    by_pairs = make_evaluation("1/1", 1.06)
    assert by_pairs.timing is not None
    by_pairs = by_pairs.model_copy(update={"timing": by_pairs.timing.model_copy(update={"speedup": 1.02})})
    page = rendered([by_pairs, make_evaluation("1/2", 1.06)], tmp_path / "report.html")
    for anchor, told in (("#1/1", True), ("#1/2", False)):
        browser.open(page, anchor)
        browser.wait("document.querySelector('.samples')")
        text = browser.js("document.querySelector('.detail').textContent")
        assert ("estimated over pairs of calls, not a quotient of medians" in text) is told


@needs_browser
def test_what_a_message_takes_is_subtracted_from_the_parents_clock_alone(tmp_path: Path, browser: Browser) -> None:
    """A kernel of 0.35 ms on a GPU was said to be what is left of it after 0.434 ms were subtracted."""
    said = {"parent": "overhead of 0.300 ms already subtracted", "worker, parent's veto": "which no sample holds"}
    for clock, words in said.items():
        evaluation = make_evaluation("1/1")
        assert evaluation.timing is not None
        timing = evaluation.timing.model_copy(update={"clock": clock})
        browser.open(rendered([evaluation.model_copy(update={"timing": timing})], tmp_path / "report.html"), "#1/1")
        browser.wait("document.querySelector('.samples')")
        text = browser.js("document.querySelector('.detail').textContent")
        assert [other for other in said.values() if other in text] == [words]


@needs_browser
def test_reasons_keep_their_lines_and_findings_fit_a_phone(tmp_path: Path, browser: Browser) -> None:
    reason = "Dynamo does not support LSTM.\n  Hint: set allow_rnn.\n\nfrom user code: line 27"
    with Run.create(tmp_path / "run", make_header(problems=("1/1", "1/2"))) as run:
        why = "imports Triton, and all of its arithmetic is done by PyTorch beside one copy"
        finding = Finding(rule="no_own_kernel", severity="review", line=30, column=8, reason=why)
        run.append(*make_answer("1/1", kernel_policy="default", findings=(finding,)))
        run.append_skip(NoCandidate(problem="1/2", level=1, contestant="inductor", reason=reason))
    write_html(Run.read(tmp_path / "run"), tmp_path / "report.html", {})
    browser.open(tmp_path / "report.html", "#1/2")
    assert "LSTM.\nHint: set allow_rnn.\n\nfrom user" in browser.js("document.querySelector('.verdict').innerText")
    browser.open(tmp_path / "report.html", "#1/1", width=390)
    box = "[...document.querySelectorAll('.detail .scroll')].find((box) => box.textContent.includes('no_own_kernel'))"
    assert browser.js(f"{box}.scrollWidth <= {box}.clientWidth")


@needs_browser
def test_kinds_show_their_speedups(tmp_path: Path, browser: Browser) -> None:
    browser.open(rendered(FIVE, tmp_path / "report.html"))
    strip = "document.querySelector('[data-tag=matmul] svg')"
    assert browser.js(f"{strip}.querySelectorAll('circle').length") == 3
    # Of 0.6, 1.005 and 2.5 the quartiles are the nearest ones.
    assert "half of them from 1.00× to 2.50×" in browser.js(f"{strip}.getAttribute('aria-label')")
    many = [make_evaluation("1/1", 1 + n / 100, sample=n) for n in range(100)] + [make_evaluation("1/23")]
    browser.open(rendered(many, tmp_path / "report.html"))
    assert browser.js(f"{strip}.querySelectorAll('circle').length") == 0
    assert browser.js(f"{strip}.querySelectorAll('.half, .whisker, .middle').length") == 3


@needs_browser
def test_the_keyboard_is_enough(tmp_path: Path, browser: Browser) -> None:
    browser.open(rendered(FIVE, tmp_path / "report.html"))
    browser.press("/")
    assert browser.js("document.activeElement.id") == "find"
    assert browser.js("document.activeElement.value") == ""
    browser.js("document.querySelector('.open').focus()")
    browser.press("ArrowDown", "Enter")
    browser.wait("document.querySelector('pre.source')")
    assert browser.js("document.querySelector('.open[aria-expanded=true] b').textContent") == "1/2"
    browser.press("ArrowDown", "ArrowUp", "Escape")
    assert browser.js("document.querySelectorAll('.detail').length") == 0
    assert browser.js("document.activeElement.textContent").startswith("1/2")
    assert browser.said == []


@needs_browser
def test_phone_darkness_and_paper(tmp_path: Path, browser: Browser) -> None:
    evaluations = [evaluation for evaluation, _ in make_run(300)]
    page = rendered(evaluations, tmp_path / "report.html", source=KERNEL)
    browser.open(page, "#1/3", width=390)
    assert browser.js("document.documentElement.scrollWidth") == 390
    light = browser.js("getComputedStyle(document.body).backgroundColor")
    browser.open(page, width=390, dark=True)
    dark = browser.js("getComputedStyle(document.body).backgroundColor")
    assert sum(map(int, re.findall(r"\d+", light))) > 600 > 200 > sum(map(int, re.findall(r"\d+", dark)))
    assert browser.paper().startswith(b"%PDF")
    assert browser.js("document.querySelectorAll('tr.row').length") == 300, "paper has every candidate"


@needs_browser
def test_profiles_beside_a_run_are_shown(tmp_path: Path, browser: Browser) -> None:
    evaluation, candidate = make_answer("1/1")
    with Run.create(tmp_path / "run", make_header()) as run:
        run.append(evaluation, candidate)
    profile = Profile(
        problem="1/1",
        problem_name="Softmax",
        problem_digest=evaluation.problem_digest,
        sizes="full",
        backend="triton",
        candidate_digest=candidate.digest,
        device="cpu",
        environment=make_environment(),
        forwards=3,
        wall_us=12.0,
        rows=(ProfileRow(name="aten::softmax", calls=1, time_us=10, share=1),),
    )
    (tmp_path / "run" / "profiles").mkdir()
    file = tmp_path / "run" / "profiles" / "mine.json"
    file.write_text(json.dumps(profile.summary()))
    write_html(Run.read(tmp_path / "run"), tmp_path / "report.html")
    browser.open(tmp_path / "report.html", "#1/1")
    assert "aten::softmax" in browser.js("document.querySelector('pre.plain').textContent")
    file.write_text('{"problem": "1/1"}')
    with pytest.raises(StoreError, match=r"mine.json is not a profile: "):
        write_html(Run.read(tmp_path / "run"), tmp_path / "report.html")


@needs_browser
def test_5000_evaluations_open_in_two_seconds(tmp_path: Path, browser: Browser) -> None:
    run = make_run(5000)
    sources = {candidate.digest: candidate.source for _, candidate in run}
    evaluations = [evaluation for evaluation, _ in run]
    page = tmp_path / "report.html"
    page.write_text(render_html(score(evaluations), evaluations, sources.get), encoding="utf-8")
    assert page.stat().st_size < 20e6
    browser.open(page)
    assert int(browser.js("document.documentElement.dataset.ready")) < 2000
    assert browser.js("document.querySelectorAll('tr.row').length") == 200
    assert "200 shown of 5000 candidates" in browser.js("document.body.textContent")
    browser.open(page, "#4/4999")
    assert "Answer 4998.0" in browser.js("document.querySelector('pre.source').textContent")
    assert browser.said == []


@pytest.mark.proof
@needs_browser
def test_5000_large_attempts_keep_the_page_small_and_quick(tmp_path: Path, browser: Browser) -> None:
    """Sources of 100 kB, logs and reasons as long as they come; hardly anything of them can be compressed."""
    noise = random.Random(5)
    evaluations = [
        evaluation.model_copy(
            update={
                "candidate_digest": f"{place:016x}",
                "sample": place % 20,
                "log": noise.randbytes(8000).hex(),
                "reason": "" if evaluation.passed else noise.randbytes(2000).hex(),
            }
        )
        for place, (evaluation, _) in enumerate(make_run(250, 20))
    ]

    def source(digest: str) -> str:
        return f"# {digest}\n{random.Random(digest).randbytes(50_000).hex()}\n"

    page = tmp_path / "report.html"
    page.write_text(render_html(score(evaluations), evaluations, source, origin="run"), encoding="utf-8")
    assert page.stat().st_size < 20e6
    browser.open(page, "#4/250~19")
    assert int(browser.js("document.documentElement.dataset.ready")) < 2000
    browser.wait("document.querySelector('pre.source')")
    shown = browser.js("document.querySelector('pre.source').textContent")
    assert "cut here: " in shown and f"the whole is in candidates/{4999:016x}.py of the run run]" in shown
    assert "cut here: " in browser.js("document.querySelector('pre.log').textContent")
    assert browser.said == []

"""Every kernel language on a GPU: a right, a wrong and a cheating candidate each get the verdict that is due."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kernelgauge.backends.registry import backend_named
from kernelgauge.schema import Evaluation, Outcome, Problem
from kernelgauge.selftest.specimens import Specimen, specimens
from kernelgauge.session.session import Session

pytestmark = [pytest.mark.gpu, pytest.mark.processes]

LANGUAGES = ("triton", "gluon", "numba", "helion", "cutile", "warp", "pallas", "tilelang", "cute")
SPECIMENS = {specimen.name: specimen for specimen in specimens()}
# What is changed in the worked example of a language to make it wrong: each drops the gain or the weight of a row.
WRONG = {
    "triton": ("* weight\n", "* 1.0\n"),
    "gluon": ("* weight\n", "* 1.0\n"),
    "numba": ("* gain[i % gain.size]", "* gain[0]"),
    "helion": ("* gain[column]", "* 1.0"),
    "cutile": ("b * weight", "b"),
    "warp": ("* gain[i % gain.shape[0]]", "* gain[0]"),
    "pallas": ("* gain[offsets % gain.shape[0]]", "* 1.0"),
    "tilelang": ("* gain[column]", "* gain[0]"),
    "cute": ("* gain[i % columns]", "* gain[0]"),
}
# The decoys of the self-test: `no_own_kernel` under `kernel-required`.
DECOY, HONEST = "{}_decoy", "{}_norm"


@pytest.fixture(scope="module")
def gpu_session(cache_folder: object) -> Iterator[Session]:
    with Session(device="cuda") as session:
        yield session


def here(language: str) -> None:
    if reason := backend_named(language).missing("cuda"):
        pytest.skip(reason)


def judged(session: Session, problem: Problem, source: str, language: str, timed: bool = False) -> Evaluation:
    return session.evaluate(
        problem, source, backend=language, device="cuda", timed=timed, kernel_policy="kernel-required"
    )


def example(language: str) -> tuple[Problem, str]:
    reference, candidate = backend_named(language).example()
    return Problem(key=f"example of {language}", name="example", source=reference), candidate


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_worked_example_passes_is_timed_and_runs_a_kernel_of_its_own(language: str, gpu_session: Session) -> None:
    here(language)
    record = judged(gpu_session, *example(language), language, timed=True)
    assert record.outcome is Outcome.PASSED, f"{record.reason}\n{record.log}"
    assert not [finding for finding in record.findings if finding.rule == "no_own_kernel"], record.findings
    assert record.executed is not None and record.executed.own, "no kernel was told to be its own"
    assert record.timing is not None
    print(
        f"{language}: {record.speedup:.3g}x, first call {record.first_call_s} s, own {record.executed.own}, "
        f"others {record.executed.others}, {record.seconds}"
    )


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_wrong_kernel_is_a_wrong_value(language: str, gpu_session: Session) -> None:
    here(language)
    problem, right = example(language)
    before, after = WRONG[language]
    assert before in right
    record = judged(gpu_session, problem, right.replace(before, after), language)
    assert record.outcome is Outcome.WRONG_VALUE, f"{record.outcome} {record.reason}\n{record.log}"


def verdict(specimen: Specimen, session: Session) -> Evaluation:
    return judged(session, specimen.problem_on("cuda"), specimen.source, specimen.backend)


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_honest_kernel_beside_the_library_passes(language: str, gpu_session: Session) -> None:
    here(language)
    specimen = SPECIMENS[HONEST.format(language)]
    assert specimen.backend == language
    record = verdict(specimen, gpu_session)
    assert record.outcome is Outcome.PASSED, f"{record.reason}\n{record.log}"
    assert record.executed is not None and record.executed.own and record.executed.others


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_kernel_for_show_is_refused(language: str, gpu_session: Session) -> None:
    here(language)
    record = verdict(SPECIMENS[DECOY.format(language)], gpu_session)
    assert (record.outcome, record.rule) == (Outcome.REJECTED, "no_own_kernel"), f"{record.reason}\n{record.log}"


def test_what_the_build_compiled_is_not_compiled_in_the_first_call(gpu_session: Session) -> None:
    """Speed is printed, not asserted: the cubin of the build must be what the worker's first call runs."""
    here("gluon")
    problem, ahead = example("gluon")
    found = judged(gpu_session, problem, ahead, "gluon")
    late = judged(gpu_session, problem, ahead.replace("def compile_ahead(", "def not_called("), "gluon")
    assert found.passed and late.passed, f"{found.reason} {late.reason}"
    assert found.seconds["build"] > 0.1 > late.seconds.get("build", 0.0)
    print(f"gluon: first call {found.first_call_s} s where it was compiled ahead, {late.first_call_s} s where not")

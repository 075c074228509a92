"""Numerics, input variants, probes and random parameters: what decides whether an output is right."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import nn

from kernelgauge.checks.inputs import classify, rounded, unchanged, vary
from kernelgauge.checks.numerics import Distance, allowance, closeness, distances
from kernelgauge.checks.probes import BLIND, Probes
from kernelgauge.config import load_protocol
from kernelgauge.errors import MachineError, ReferenceTooLarge
from kernelgauge.evaluation.correctness.screening import PRECISIONS, ScreeningTrials
from kernelgauge.evaluation.correctness.trials import Facts, acceptance, prepare
from kernelgauge.evaluation.correctness.verdicts import compare
from kernelgauge.evaluation.sides.reference import Reference
from kernelgauge.problems.loader import load_problem
from kernelgauge.schema import Evaluation, NotVaried, Problem
from kernelgauge.selftest.specimens import problem
from kernelgauge.session.session import Session
from kernelgauge.wire.initialisers import randomised


def distance(outputs: list[torch.Tensor], expected: list[torch.Tensor]) -> Distance:
    """The distance of the only output."""
    (found,) = distances(outputs, expected)
    return found


STRICT = load_protocol("strict").tolerance
PUBLISHED = load_protocol("v0.1").tolerance


def test_distance_is_relative_to_the_scale_of_the_output() -> None:
    due = torch.tensor([3.0, -4.0]).double()
    found = distance([torch.tensor([3.0, -4.5])], [due])
    assert found.rms == pytest.approx(0.5 / 5)
    assert found.worst == pytest.approx(0.5 / math.sqrt(12.5))
    scaled = distance([torch.tensor([3.0, -4.5]) * 1e-6], [due * 1e-6])
    assert scaled.rms == pytest.approx(found.rms, rel=1e-6)


def test_distance_spans_many_chunks_and_names_the_worst_element() -> None:
    due = torch.rand(3, 200_000)
    got = due.clone()
    got[2, 123_456] += 0.25
    found = distance([got], [due])
    assert "[2, 123456]" in found.where
    assert found.rms == pytest.approx(0.25 / math.sqrt(600_000) / due.square().mean().sqrt().item(), rel=1e-3)


@pytest.mark.parametrize(
    ("got", "due", "right"),
    [
        ([math.nan, 1.0], [math.nan, 1.0], True),
        ([math.inf, 1.0], [math.inf, 1.0], True),
        ([-math.inf, 1.0], [math.inf, 1.0], False),
        ([math.nan, 1.0], [math.inf, 1.0], False),
        ([math.nan, 1.0], [2.0, 1.0], False),
        ([2.0, 1.0], [math.nan, 1.0], False),
    ],
)
def test_infinities_and_nans_must_match(got: list[float], due: list[float], right: bool) -> None:
    found = distance([torch.tensor(got)], [torch.tensor(due).double()])
    assert math.isfinite(found.rms) is right
    assert (closeness([torch.tensor(got)], [torch.tensor(due)], PUBLISHED)[0].rms <= 1) is right


def test_integers_and_booleans_must_be_equal() -> None:
    assert distance([torch.tensor([1, 2])], [torch.tensor([1, 2])]).rms == 0
    assert distance([torch.tensor([1, 2])], [torch.tensor([1, 3])]).rms > 1
    assert distance([torch.tensor([True])], [torch.tensor([False])]).rms > 1


def test_comparing_changes_neither_side() -> None:
    """Once an in-place subtraction on an output that already was float64 did."""
    got, due = torch.rand(10).double(), torch.rand(10).double()
    kept = got.clone(), due.clone()
    distance([got], [due])
    assert torch.equal(got, kept[0])
    assert torch.equal(due, kept[1])


def test_empty_and_scalar_outputs() -> None:
    assert distance([torch.empty(0)], [torch.empty(0).double()]).rms == 0
    assert distance([torch.tensor(2.0)], [torch.tensor(2.0).double()]).rms == 0
    assert distance([torch.zeros(3)], [torch.zeros(3).double()]).rms == 0


def test_each_output_is_held_to_its_own_allowance() -> None:
    """What eager may err in one output buys nothing in another."""
    loose, tight = torch.rand(1000), torch.rand(1000)
    eager = [Distance(1e-4, 1e-3), Distance(1e-8, 1e-7)]
    wrong = [loose, tight * (1 + 1e-4)]
    assert compare(STRICT, "own", [loose * (1 + 1e-4), tight], [loose, tight], eager)[0].agreed
    assert not compare(STRICT, "own", wrong, [loose, tight], eager)[0].agreed


def test_complex_outputs_are_compared_by_value() -> None:
    due = torch.randn(100, dtype=torch.complex128)
    assert 0 < distance([due.to(torch.complex64)], [due]).rms < 1e-6
    assert distance([due.conj().resolve_conj()], [due]).rms > 0.1


def test_allowance_has_a_floor_for_exact_operations() -> None:
    assert allowance(STRICT, Distance(0.0, 0.0)).rms == STRICT.floor
    assert allowance(STRICT, Distance(1e-6, 1e-5)).rms == pytest.approx(16e-6)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_allowance_separates_honest_rounding_from_half_precision(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    a, b = torch.randn(256, 512), torch.randn(512, 128)
    truth = a.double() @ b.double()
    eager = distance([a @ b], [truth])
    honest = sum(a[:, i : i + 64] @ b[i : i + 64] for i in range(0, 512, 64))
    cheap = (a.to(dtype) @ b.to(dtype)).float()
    limits = allowance(STRICT, eager)
    assert limits.accepts(distance([honest], [truth]))
    assert not limits.accepts(distance([cheap], [truth]))


def _draw(make: object) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(1)
    return make(), make()  # type: ignore[operator]


@pytest.mark.parametrize(
    ("make", "domain"),
    [
        (lambda: torch.rand(64, 64), "real"),
        (lambda: torch.randn(1000), "real"),
        (lambda: torch.randint(0, 10, (64,)), "fixed"),
        (lambda: torch.randint(0, 2, (64,)).float() * 2 - 1, "fixed"),
        (lambda: torch.rand(64, 64).softmax(-1), "fixed"),
        (lambda: torch.rand(64, 64) > 0.5, "fixed"),
        (lambda: torch.triu(torch.rand(64, 64)), "fixed"),
        (lambda: (lambda m: (m + m.T) / 2)(torch.rand(64, 64)), "fixed"),
        (lambda: torch.tensor(0.5), "fixed"),
        (lambda: torch.ones(100), "fixed"),
        (lambda: 3.14, "fixed"),
    ],
)
def test_domains_are_told_from_draws(make: object, domain: str) -> None:
    assert classify(*_draw(make)) == domain


@pytest.mark.parametrize("variant", ["own", "signed", "normal", "scaled", "offgrid", "planted", "large"])
def test_variants_keep_shape_and_domain(variant: str) -> None:
    torch.manual_seed(3)
    drawn = torch.rand(100, 50)
    for domain in ("real", "positive"):
        changed = vary(drawn, variant, domain)
        assert changed.shape == drawn.shape
        assert changed.dtype == drawn.dtype
        assert domain == "real" or (changed > 0).all() or variant == "own"
        assert (variant == "own") == torch.equal(changed, drawn)
    assert vary(drawn, variant, "fixed") is drawn
    labels = torch.randint(0, 5, (9,))
    assert vary(labels, variant, "fixed") is labels


@pytest.mark.parametrize("variant", ["own", "signed", "normal", "scaled", "offgrid", "planted", "large"])
@pytest.mark.parametrize(
    ("domain", "structured"),
    [
        ("symmetric", lambda m: (m + m.mT) / 2),
        ("upper_triangular", torch.triu),
        ("lower_triangular", torch.tril),
    ],
)
def test_variants_keep_the_structure_of_matrices(
    variant: str, domain: str, structured: Callable[[torch.Tensor], torch.Tensor]
) -> None:
    torch.manual_seed(3)
    for shape in ((64, 64), (3, 20, 20)):
        drawn = structured(torch.rand(shape))
        changed = vary(drawn, variant, domain)
        kept = (
            torch.equal(changed, changed.mT) if domain == "symmetric" else torch.equal(changed, structured(changed))
        )
        assert kept and (variant == "own") == torch.equal(changed, drawn)
        assert (variant in ("signed", "normal", "large")) <= bool((changed < 0).any())


def test_signed_and_normal_variants_have_negative_values() -> None:
    torch.manual_seed(4)
    drawn = torch.rand(1000)
    assert 0.4 < (vary(drawn, "signed", "real") < 0).float().mean() < 0.6
    assert (vary(drawn, "normal", "real") < 0).any()


@pytest.mark.parametrize("variant", ["signed", "scaled", "normal", "offgrid", "planted", "large"])
def test_a_number_varies_where_its_domain_allows(variant: str) -> None:
    found = set()
    for seed in range(16):
        torch.manual_seed(seed)
        found.add(vary(3.14, variant, "real"))
        assert vary(3.14, variant, "positive") > 0
    assert all(type(value) is float and value == float(torch.tensor(value)) for value in found)
    assert found != {3.14} and len(found) >= 2, found
    for value, domain in ((3.14, "fixed"), (3, "real"), (True, "real"), ("sum", "real"), (None, "real")):
        assert vary(value, variant, domain) is value
    assert vary(3.14, "own", "real") == 3.14


def test_what_two_draws_have_in_common() -> None:
    ones, large = torch.ones(300, 700), torch.ones(300, 700)
    large[-1, -1] = 2
    assert unchanged(ones, ones.clone()) and unchanged(torch.tensor(2), torch.tensor(2))
    assert not unchanged(ones, large), "beyond what is looked at first"
    assert not unchanged(ones, ones.double()) and not unchanged(ones, ones[:1]) and not unchanged(ones, 1.0)
    assert unchanged(3.14, 3.14) and unchanged("sum", "sum") and unchanged(None, None) and not unchanged(1, True)
    assert unchanged(torch.ones(0, 3), torch.ones(0, 3)) and not unchanged(torch.rand(9), torch.rand(9))


@pytest.mark.proof
def test_the_record_names_what_never_varies(session: Session) -> None:
    def judged(made: Problem, protocol: str = "strict") -> Evaluation:
        source = made.source.replace("class Model(", "class ModelNew(").replace("super(Model,", "super(ModelNew,")
        return session.evaluate(made, source, protocol=protocol, timed=False)

    scaled = judged(problem("scaled_by_argument"))
    assert scaled.passed and scaled.not_varied == NotVaried(forward=("mask",))
    assert scaled.summary()["not_varied"] == {"constructor": [], "forward": ["mask"]}
    published = judged(problem("scaled_by_argument"), "v0.1")
    assert published.not_varied == NotVaried(forward=("s", "mask")), "its inputs are all the problem's own"
    unknown = problem("scaled_by_argument").model_copy(update={"domains": {}})
    assert judged(unknown).not_varied == NotVaried(forward=("s", "mask"))
    labels = judged(load_problem("1/95", sizes="small"))
    assert labels.not_varied == NotVaried(), "targets are as drawn, and drawn anew"
    fused = judged(load_problem("2/76", sizes="small"))
    assert fused.not_varied == NotVaried(constructor=("in_features", "out_features", "bias_shape"))
    broken = session.evaluate(load_problem("2/76", sizes="small"), "class ModelNew: pass", timed=False)
    assert not broken.passed and broken.not_varied in (None, fused.not_varied)


def test_large_inputs_overflow_exponentials_and_are_negative_in_one_half() -> None:
    torch.manual_seed(4)
    large = vary(torch.rand(1, 40, 100), "large", "real")
    assert bool((large[:, :20] <= 0).all())
    assert bool(torch.exp(large[:, 20:]).isinf().any())
    assert bool((vary(torch.rand(1, 40, 100), "large", "positive") > 0).all())


def test_under_large_inputs_the_floor_is_coarse_and_the_multiple_is_the_same() -> None:
    exact, far = allowance(STRICT, Distance(0.0, 0.0), "large"), allowance(STRICT, Distance(1e-3, 1e-2), "large")
    assert (exact.rms, exact.worst) == pytest.approx((STRICT.coarse, 100 * STRICT.coarse))
    assert (far.rms, far.worst) == pytest.approx((16e-3, 32e-2))


def test_planted_values_are_few_and_out_of_place() -> None:
    torch.manual_seed(4)
    drawn = torch.rand(300, 1000)
    planted = vary(drawn, "planted", "real")
    changed = planted[planted != drawn]
    assert 10 <= changed.numel() <= 16
    assert bool((changed.abs() > 1).all()) and changed.min() < 0 < changed.max()
    assert vary(torch.rand(1), "planted", "real").shape == (1,)
    strided = drawn[:, ::2]
    assert 10 <= int((vary(strided, "planted", "positive") != strided).sum()) <= 16


def _bias(rounds: Callable[[torch.Tensor], torch.Tensor], value: torch.Tensor) -> float:
    return abs(float(rounds(value).double().sum() / value.double().sum()) - 1)


@pytest.mark.parametrize("precision", ["tf32", "bfloat16"])
def test_narrow_types_round_most_offgrid_values_to_one_side(precision: str) -> None:
    torch.manual_seed(4)
    drawn = torch.rand(1 << 20)
    off = vary(drawn, "offgrid", "real")
    assert 0 < float((off / drawn - 1).abs().max()) < 2**-7
    assert _bias(lambda value: rounded(value, precision), drawn) < 1e-5
    assert _bias(lambda value: rounded(value, precision), off) > 1.3 * STRICT.honest_most
    assert torch.equal(vary(torch.zeros(100), "offgrid", "real"), torch.zeros(100))


def test_a_difference_of_offgrid_values_is_off_the_grid_too() -> None:
    torch.manual_seed(4)
    first, second = (vary(torch.rand(1 << 20), "offgrid", "real") for _ in range(2))
    apart = (first - second).abs()
    assert abs(float((apart.half().double() ** 2).sum() / (apart.double() ** 2).sum()) - 1) > STRICT.honest_most


GATED = """import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.gate = nn.Parameter(torch.randn(1))

    def forward(self, x):
        return torch.relu(self.gate) * self.linear(x)


def get_inputs():
    return [torch.rand(16, 32)]


def get_init_inputs():
    return [32]
"""


@pytest.mark.proof
def test_luck_does_not_let_an_answer_without_the_work_count(session: Session) -> None:
    """Half of all weights shut the gate, and then zeros are right; admission may have drawn the other half."""
    zeros = GATED.replace("class Model(", "class ModelNew(").replace("torch.relu(self.gate) *", "0 *")
    records = [
        session.evaluate(Problem(key="gated", name="gated", source=GATED + f"# {number}\n"), zeros, timed=False)
        for number in range(6)
    ]
    assert not any(record.passed and record.scored for record in records)
    assert {"zeros"} <= {kind for record in records for kind in record.trivial_answers} or not any(
        r.passed for r in records
    )


@pytest.mark.processes
def test_what_low_precision_passes_under_large_inputs_alone_is_no_luck(session: Session) -> None:
    protocol = load_protocol("strict")
    with Reference(session._zygote, problem(), protocol, "cpu") as reference:
        facts = prepare(reference, "large")
        assert facts.variant == "large"
        assert acceptance(reference, facts)(reference.imitate("tf32")[0])
        screening = ScreeningTrials(reference, PRECISIONS, thorough=True)
        screening.all_trials()
    assert not screening.shortcuts().lucky


def _seen(trying: ScreeningTrials, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The trials that a screening of its own goes through, as they are drawn."""
    drawn: list[str] = []

    def noted(reference: Reference, variant: str) -> Facts:
        drawn.append(variant)
        return prepare(reference, variant)

    with monkeypatch.context() as patch:
        patch.setattr("kernelgauge.evaluation.correctness.screening.prepare", noted)
        trying.all_trials()
    return drawn


@pytest.mark.proof
def test_admission_ends_once_nothing_is_left_to_refuse(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    protocol = load_protocol("strict")
    zero = Problem(key="zero", name="zero", source=problem().source.replace("return torch.relu(", "return 0 * ("))
    for asked, answers in ((problem(), set()), (zero, {"zeros", "constant", "replay"})):
        with Reference(session._zygote, asked, protocol, "cpu") as reference:
            screening, thorough = (
                ScreeningTrials(reference, PRECISIONS),
                ScreeningTrials(reference, PRECISIONS, thorough=True),
            )
            drawn, all_drawn = _seen(screening, monkeypatch), _seen(thorough, monkeypatch)
        assert screening.trivial_answers() == thorough.trivial_answers() == answers
        assert screening.settled == (not answers) and not thorough.settled
        assert sorted(all_drawn[: len(protocol.inputs.variants)]) == sorted(protocol.inputs.variants)
        assert drawn == (all_drawn if answers else ["offgrid", "own", "own"])


@pytest.mark.processes
def test_a_wrong_candidate_is_left_once_its_problem_is_known_to_say_something(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    see = ScreeningTrials.see
    monkeypatch.setattr(ScreeningTrials, "see", lambda self, facts: (seen.append(facts.variant), see(self, facts)))
    own = Problem(key="once", name="once", source=problem().source + "# once\n")
    wrong = own.source.replace("class Model(", "class ModelNew(").replace("torch.relu(", "torch.tanh(")
    record = session.evaluate(own, wrong, timed=False)
    assert (record.outcome, record.trivial_answers) == ("wrong_value", ())
    variants = load_protocol("strict").inputs.variants
    second = [place for place, variant in enumerate(variants) if variant == "own"][1]
    assert seen == list(variants[: second + 1]), "with a second draw of its own inputs all is refused"


@pytest.mark.processes
def test_own_inputs_stand_in_where_the_reference_cannot_do_with_large_ones(session: Session) -> None:
    cases = {"torch.exp(x)": True, "torch.sin(3e3 * x)": True, "torch.sin(1e6 * x)": True, "torch.sin(x)": False}
    for forward, stands_in in cases.items():
        source = problem().source.replace("torch.relu(self.norm(self.linear(x)))", forward)
        made = Problem(key="large", name="large", source=source, domains={"x": "real"})
        record = session.evaluate(made, source.replace("class Model(", "class ModelNew("), timed=False)
        assert record.passed
        assert (record.trials[-1].variant == "own") == stands_in, forward


@pytest.mark.proof
def test_what_is_right_on_all_timed_inputs_without_reading_them_does_not_count(session: Session) -> None:
    """It could look whether its inputs are the timed ones, and work only where they are not."""
    source = problem().source.replace("return torch.relu(", "return (x < 0) * torch.relu(")
    shut = Problem(key="shut", name="shut", source=source)
    record = session.evaluate(shut, source.replace("class Model(", "class ModelNew("), timed=False)
    assert record.passed and not record.scored and "zeros" in record.trivial_answers
    zeros = source.replace("class Model(", "class ModelNew(").replace("(x < 0) *", "0 *")
    assert session.evaluate(shut, zeros, timed=False).outcome == "wrong_value", "the other inputs do tell"


def _survivors(outputs: list[torch.Tensor], inputs: list[torch.Tensor], tolerance: float) -> set[str]:
    probes = Probes([*BLIND, "input 0"])
    for output, given in zip(outputs, inputs, strict=True):
        probes.see(
            [output], [given], lambda answer, output=output: bool((answer[0] - output).abs().max() < tolerance)
        )
    return probes.survivors()


def test_probes_find_every_way_to_skip_the_work() -> None:
    torch.manual_seed(5)
    inputs = [torch.rand(8), torch.rand(8)]
    assert _survivors(inputs, inputs, 1e-3) == {"input 0"}
    assert _survivors([torch.zeros(8)] * 2, inputs, 1e-3) == {"zeros", "constant", "replay"}
    fixed = torch.rand(8)
    assert _survivors([fixed, fixed], inputs, 1e-3) == {"replay"}
    assert _survivors([torch.rand(8) for _ in inputs], inputs, 1e-3) == set()
    assert _survivors([torch.rand(8) for _ in inputs], inputs, 2.0) >= {"zeros", "ones", "constant", "replay"}


def test_a_probe_that_needs_two_trials_does_not_survive_one() -> None:
    assert _survivors([torch.rand(8)], [torch.rand(4)], 1e-6) == set()


@pytest.mark.processes
def test_an_always_zero_problem_does_not_count(session: Session) -> None:
    source = problem().source.replace("return torch.relu(", "return 0 * torch.relu(")
    weak = Problem(key="zero", name="zero", source=source)
    candidate = source.replace("class Model(", "class ModelNew(")
    record = session.evaluate(weak, candidate, device="cpu", timed=False)
    assert record.passed
    assert "zeros" in record.trivial_answers
    assert not record.scored
    failed = session.evaluate(weak, "not code", device="cpu", timed=False)
    assert not failed.scored
    assert failed.trivial_answers == record.trivial_answers


@pytest.mark.processes
def test_relu_is_repaired_by_strict_and_weak_under_the_published_protocol(session: Session) -> None:
    relu = load_problem("1/19", sizes="small")
    identity = "import torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return x.clone()\n"
    strict = session.evaluate(relu, identity, device="cpu", timed=False)
    assert (strict.outcome, strict.scored) == ("wrong_value", True)
    published = session.evaluate(relu, identity, device="cpu", protocol="v0.1", timed=False)
    assert published.passed
    assert published.trivial_answers == ("input 0",)
    assert published.scored


def _model() -> nn.Module:
    class Free(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = nn.BatchNorm1d(6)
            self.attention = nn.MultiheadAttention(4, 2)
            self.gain = nn.Parameter(torch.ones(3, 1))
            self.shift = nn.Parameter(torch.zeros(5))
            self.register_buffer("mask", torch.ones(4, 4))

    torch.manual_seed(6)
    return Free()


def test_randomised_parameters_are_equal_on_both_sides_and_nowhere_constant() -> None:
    with randomised():
        first, second = _model(), _model()
    for name, value in first.state_dict().items():
        assert torch.equal(value, second.state_dict()[name]), name
    for name in ("norm.weight", "norm.bias", "norm.running_var", "attention.in_proj_bias", "gain", "shift"):
        assert first.state_dict()[name].unique().numel() > 1, name
    assert (first.state_dict()["norm.running_var"] > 0).all()
    assert first.state_dict()["mask"].eq(1).all()
    assert _model().state_dict()["gain"].eq(1).all()
    assert torch.nn.init.ones_(torch.empty(3)).eq(1).all()


def test_draws_are_larger_moved_or_smaller_as_a_problem_asks() -> None:
    def model(**asked: float) -> dict[str, torch.Tensor]:
        torch.manual_seed(3)
        with randomised(**asked):
            layer = torch.nn.Linear(5, 4)
            layer.own = torch.nn.Parameter(torch.randn(3))
            layer.ones = torch.nn.Parameter(torch.ones(3))
        return layer.state_dict()

    usual, other = model(), model(gain=4.0, bias=-2.0, drawn=0.5)
    assert torch.equal(other["weight"], usual["weight"] * 4)
    assert torch.equal(other["bias"], usual["bias"] * 4 - 2)
    assert torch.equal(other["own"], usual["own"] / 2)
    assert torch.equal(other["ones"], usual["ones"])
    assert torch.nn.init.uniform_(torch.empty(9)).max() < 1


@pytest.mark.processes
def test_a_wrong_answer_is_not_given_other_draws(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where zeros pass the first trial, the failure of another answer in it is final all the same."""
    from kernelgauge.evaluation import checking

    calls = []
    real = checking.check
    monkeypatch.setattr(checking, "check", lambda *given: calls.append(given) or real(*given))
    source = GATED.replace(
        "torch.relu(self.gate) *", "(self.gate < -9) *"
    )  # admission finds it weak: so do not ask it
    monkeypatch.setattr(session.supervisor.screen._screening, "known", lambda *_: ())
    wrong = source.replace("class Model(", "class ModelNew(").replace("* self", "+ 7 * self")
    record = session.evaluate(Problem(key="final", name="final", source=source), wrong, timed=False)
    assert record.outcome == "wrong_value" and record.trivial_answers == ()
    assert len(calls) == 1, "its parameters are the reference's already"
    zeros = session.evaluate(
        Problem(key="final", name="final", source=source),
        source.replace("class Model(", "class ModelNew("),
        timed=False,
    )
    assert zeros.passed and not zeros.scored and "zeros" in zeros.trivial_answers
    assert len(calls) == 4


# What the trusted side draws and answers


@pytest.mark.processes
def test_the_first_own_inputs_are_those_drawn_when_it_was_opened(session: Session) -> None:
    with Reference(session._zygote, problem(), load_protocol("strict"), "cpu") as reference:
        drawn = reference.master.bytes.clone()
        first = [tensor.clone() for tensor in prepare(reference, "own").truth]
        assert torch.equal(reference.master.bytes, drawn)
        assert any(not torch.equal(a, b) for a, b in zip(first, prepare(reference, "own").truth, strict=True))
        assert not torch.equal(reference.master.bytes, drawn)


@pytest.mark.processes
def test_inputs_that_were_drawn_for_something_else_are_not_taken_for_the_first(session: Session) -> None:
    with Reference(session._zygote, problem(), load_protocol("strict"), "cpu") as reference:
        drawn = reference.master.bytes.clone()
        prepare(reference, "signed")
        facts = prepare(reference, "own")
        assert not torch.equal(reference.master.bytes, drawn)
        assert all(own.rms < 1e-3 for own in distances(facts.answer, facts.truth))


@pytest.mark.processes
def test_the_oracle_can_be_asked_on_after_something_beside_it_failed(session: Session) -> None:
    def fails() -> None:
        raise MachineError("beside")

    with Reference(session._zygote, problem(), load_protocol("strict"), "cpu") as reference:
        with pytest.raises(MachineError, match="beside"):
            reference.truth(beside=fails)
        facts = prepare(reference, "normal")
        assert all(own.rms < 1e-3 for own in distances(facts.answer, facts.truth))


@pytest.mark.processes
def test_both_precisions_side_by_side_answer_the_same_inputs(session: Session) -> None:
    with Reference(session._zygote, problem(), load_protocol("strict"), "cpu") as reference:
        reference.answers.room_for_both = True  # as on a GPU
        for variant in ("normal", "own", "signed"):
            facts = prepare(reference, variant)
            assert facts.variant == variant and 0 < max(own.rms for own in facts.eager) < 1e-5


@pytest.mark.processes
def test_what_has_no_room_beside_the_other_is_answered_after_it(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Reference(session._zygote, problem(), load_protocol("strict"), "cpu") as reference:
        reference.answers.room_for_both = True
        asked: list[str] = []

        def crowded() -> list[torch.Tensor]:
            asked.append("answer")
            if len(asked) == 1:
                raise ReferenceTooLarge("no room beside the oracle")
            return Reference.answer(reference)

        monkeypatch.setattr(reference, "answer", crowded)
        facts = prepare(reference, "normal")
        assert len(asked) == 2 and not reference.answers.room_for_both
        assert 0 < max(own.rms for own in facts.eager) < 1e-5

"""What honest float32 sums lose, against real ones; the oracle asked for it only where need be; what reasons say."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import nn

from kernelgauge.checks.accumulation import chain, lost, of_sum, of_terms
from kernelgauge.checks.inputs import vary
from kernelgauge.checks.numerics import Allowance, Distance, distances, honest_allowance
from kernelgauge.config import load_protocol
from kernelgauge.errors import ReferenceTooLarge
from kernelgauge.evaluation.correctness.trials import prepare
from kernelgauge.evaluation.correctness.verdicts import compare, disagreement
from kernelgauge.evaluation.sides.reference import Reference
from kernelgauge.schema import Outcome, Problem, Trial
from kernelgauge.selftest.specimens import problem
from kernelgauge.session.session import Session
from kernelgauge.worker.rounding_noise import RoundingNoise

STRICT = load_protocol("strict").tolerance
DRAWS = {
    "uniform": lambda *shape: torch.rand(*shape),
    "normal": lambda *shape: torch.randn(*shape),
    "near each other": lambda *shape: 85.3 + 5 * torch.randn(*shape),
}


def _in_order(terms: torch.Tensor) -> torch.Tensor:
    """Sums of the rows, one term after the other, each rounded to float32."""
    return torch.from_numpy(np.add.accumulate(terms.float().numpy(), axis=1, dtype=np.float32)[:, -1].copy())


@pytest.mark.parametrize("draw", DRAWS)
@pytest.mark.parametrize("count", [1 << 8, 1 << 12, 1 << 15, 1 << 18])
def test_the_model_bounds_real_sums_in_order_and_not_by_far(draw: str, count: int) -> None:
    torch.manual_seed(count)
    terms = DRAWS[draw](max(16, (1 << 21) // count), count)
    exact = terms.double().sum(1)
    error = (_in_order(terms).double() - exact).square().mean().sqrt()
    squares = terms.double().square().sum(1)
    model = ((of_sum(count) * exact) ** 2 + of_terms(count) ** 2 * squares).mean().sqrt()
    assert 0.4 < float(error / model) < 1.25


@pytest.mark.parametrize("count", [1 << 16, 1 << 18, 1 << 20])
def test_long_sums_of_squares_lose_what_the_model_says(count: int) -> None:
    torch.manual_seed(count)
    terms = torch.rand(16, count) ** 2
    exact = terms.double().sum(1)
    relative = ((_in_order(terms).double() - exact) / exact).mean()
    assert relative < 0
    assert 0.5 < float(relative.abs()) / lost(count, squares=True) < 1.6


def test_a_chain_grows_with_its_terms_up_to_what_one_thread_adds() -> None:
    assert [chain(terms) for terms in (0, 1, 1000, 1 << 20)] == [1, 1, 1000, 1 << 20]
    assert chain(1 << 24) == 1 << 16 and chain(1 << 40) == 1 << 20


@pytest.mark.parametrize("count", [8192, 16384, 32768, 65536])
def test_offgrid_inputs_bias_long_sums_less_than_half_as_much_as_narrow_types(count: int) -> None:
    torch.manual_seed(count)
    terms = vary(torch.rand(16, count), "offgrid", "real")
    exact = terms.double().sum(1)
    assert float((_in_order(terms).double() / exact - 1).abs().max()) < 0.75 * STRICT.honest_most


def _merged(terms: torch.Tensor, size: int) -> torch.Tensor:
    """The variance of rows, in float32, from those of pieces (Chan)."""
    count, mean, squares = 0, torch.zeros_like(terms[:, 0]), torch.zeros_like(terms[:, 0])
    for piece in terms.split(size, 1):
        more, own = piece.shape[1], piece.mean(1)
        apart = own - mean
        squares += (piece - own[:, None]).square().sum(1) + apart.square() * (count * more / (count + more))
        mean += apart * (more / (count + more))
        count += more
    return squares / (count - 1)


def _noise(model: nn.Module, *inputs: torch.Tensor, draws: int = 6) -> float:
    """Root mean square, relative to the output, of what the noise makes of a model in float64."""
    model = model.double()
    found = []
    with torch.no_grad():
        truth = model(*[value.double() for value in inputs])
        for seed in range(draws):
            given = [value.double() for value in inputs]
            with RoundingNoise(torch.Generator().manual_seed(seed)):
                found.append(distances([model(*given)], [truth])[0].rms)
    return math.sqrt(sum(each**2 for each in found) / draws)


class _Function(nn.Module):
    def __init__(self, function: object):
        super().__init__()
        self.function = function

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        return self.function(*inputs)  # type: ignore[operator]


@pytest.mark.parametrize("count", [2048, 16384])
@pytest.mark.parametrize("mean", [300.0, 1000.0, 1030.0])  # just below and just above a power of two
def test_a_variance_of_pieces_far_from_zero_is_allowed_what_rounded_means_cost(count: int, mean: float) -> None:
    torch.manual_seed(count)
    terms = torch.randn(256, count) + mean
    exact = terms.double().var(1)
    found = float((_merged(terms, 256).double() - exact).square().mean().sqrt())
    noise = _noise(_Function(lambda x: x.var(1)), terms)
    assert found / 1.5 < noise < 6 * found
    assert _noise(_Function(lambda x: x.std(1)), terms) == pytest.approx(noise / 2, rel=0.2), "to first order"


OPERATORS = {
    "matmul": (lambda a, b: a @ b, (64, 4096), (4096, 8)),
    "linear": (nn.functional.linear, (4, 16, 4096), (8, 4096)),
    "einsum": (lambda a, b: torch.einsum("bij,jk->bik", a, b), (4, 4, 4096), (4096, 8)),
    "conv1d": (nn.functional.conv1d, (2, 64, 80), (8, 64, 64)),
    "conv_transpose1d": (nn.functional.conv_transpose1d, (2, 64, 80), (64, 8, 64)),
    "sum": (lambda a: a.sum(1), (64, 4096)),
    "mean": (lambda a: a.mean(1), (64, 4096)),
    "norm": (lambda a: a.norm(dim=1), (64, 4096)),
    "var": (lambda a: a.var(1), (64, 4096)),
    "softmax": (lambda a: a.softmax(1), (64, 4096)),
    "log_softmax": (lambda a: a.log_softmax(1), (64, 4096)),
    "logsumexp": (lambda a: a.logsumexp(1), (64, 4096)),
    "cumsum": (lambda a: a.cumsum(1), (64, 4096)),
    "layer_norm": (lambda a: nn.functional.layer_norm(a, (4096,)), (64, 4096)),
    "group_norm": (lambda a: nn.functional.group_norm(a, 2), (8, 4, 2048)),
    "batch_norm": (lambda a: nn.functional.batch_norm(a, None, None, training=True), (16, 4, 256)),
    "instance_norm": (nn.functional.instance_norm, (8, 4, 4096)),
    "avg_pool": (lambda a: nn.functional.avg_pool2d(a, 64), (8, 1, 128, 128)),
    "mse_loss": (nn.functional.mse_loss, (64, 64), (64, 64)),
    "attention": (nn.functional.scaled_dot_product_attention, (2, 64, 64), (2, 4096, 64), (2, 4096, 64)),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_that_accumulate_get_the_noise_of_their_sums(name: str) -> None:
    torch.manual_seed(1)
    function, *shapes = OPERATORS[name]
    inputs = [torch.rand(shape) for shape in shapes]
    found = _noise(_Function(function), *inputs)
    eager = distances([function(*inputs)], [function(*[value.double() for value in inputs])])[0].rms
    assert max(eager, 1.2e-7) < found < 2e-5


def test_cells_of_recurrent_networks_get_the_noise_of_their_products() -> None:
    torch.manual_seed(1)
    lstm = nn.LSTM(1024, 16)
    assert 1e-7 < _noise(_Function(lambda x: lstm.double()(x)[0]), torch.rand(4, 2, 1024)) < 1e-5


def test_noise_leaves_inputs_and_random_numbers_as_they_are() -> None:
    x = torch.rand(100).double()
    kept = x.clone()

    def forward() -> torch.Tensor:
        torch.manual_seed(7)
        return torch.nn.functional.dropout(x.view(10, 10).t() * 2, 0.5)

    plain = forward()
    with RoundingNoise(torch.Generator().manual_seed(1)):
        noisy = forward()
    assert torch.equal(x, kept)
    assert torch.equal(plain == 0, noisy == 0) and not torch.equal(plain, noisy)


def test_a_scalar_is_allowed_several_deviations_and_many_elements_twice_their_error() -> None:
    usual = Allowance(3e-6, 5e-5)
    luck = [Distance(error, error) for error in (1e-6, 9e-6, 4e-6, 6e-6)]
    alike = [Distance(error, 4 * error) for error in (5e-6, 5.1e-6, 4.9e-6, 5e-6)]
    assert honest_allowance(STRICT, alike, usual).rms == pytest.approx(1e-5, rel=0.1)
    assert honest_allowance(STRICT, luck, usual).rms > 2.5e-5
    far = [Distance(1e-3, 1e-1)] * 4
    assert honest_allowance(STRICT, far, usual) == Allowance(STRICT.honest_most, STRICT.honest_worst)
    assert honest_allowance(STRICT, [Distance(1e-9, 1e-9)] * 4, usual) == usual


def _in_one_chain(reference: Reference) -> torch.Tensor:
    predictions, targets = reference.given()
    squares = ((predictions - targets) ** 2).flatten().numpy()
    return torch.tensor(np.add.accumulate(squares, dtype=np.float32)[-1] / np.float32(squares.size))


@pytest.mark.processes
def test_the_oracle_is_asked_only_where_the_usual_bound_refuses(session: Session) -> None:
    with Reference(session._zygote, problem("mean_loss"), load_protocol("strict"), "cpu") as reference:
        facts = prepare(reference, "own")
        honest = reference.honest

        def judged(answer: torch.Tensor) -> Trial:
            return compare(STRICT, "own", [answer], facts.truth, facts.eager, facts.honest)[0]

        assert judged(facts.answer[0]).agreed and honest.asked == 0
        assert judged(facts.answer[0]).honest_error is None
        assert not judged(facts.answer[0] * 1.001).agreed and honest.asked == 0, "nothing would save it"
        trial = judged(_in_one_chain(reference))
        assert trial.agreed and trial.error > STRICT.floor and trial.allowed <= STRICT.honest_most
        assert trial.honest_error is not None and 5e-6 < trial.honest_error < 5e-5
        asked = honest.asked
        assert 0 < asked <= 12
        facts = prepare(reference, "own")
        assert judged(_in_one_chain(reference)).agreed
        assert honest.asked <= asked + 12


@pytest.mark.processes
def test_where_memory_does_not_suffice_the_usual_bound_stands(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crowded(*_: object) -> None:
        raise ReferenceTooLarge("no room")

    with Reference(session._zygote, problem("mean_loss"), load_protocol("strict"), "cpu") as reference:
        facts = prepare(reference, "own")
        monkeypatch.setattr(reference._oracle, "err", crowded)
        off = [facts.answer[0] * (1 + 1e-5)]
        for _ in range(2):
            trial, _found = compare(STRICT, "own", off, facts.truth, facts.eager, facts.honest)
            assert not trial.agreed and trial.honest_error is None and trial.allowed == STRICT.floor
        assert sum("no room" in note for note in reference.notes) == 1


@pytest.mark.processes
def test_reasons_say_what_is_known(session: Session) -> None:
    with Reference(session._zygote, problem(), load_protocol("strict"), "cpu") as reference:
        facts = prepare(reference, "own")

        def reason(outputs: list[torch.Tensor]) -> str:
            trial, found = compare(STRICT, "own", outputs, facts.truth, facts.eager, facts.honest)
            failure = disagreement(trial, found, STRICT, "here", outputs, facts.truth, facts.honest)
            assert failure.outcome is Outcome.WRONG_PRECISION
            return failure.reason

        for precision, name in (("tf32", "TF32"), ("bfloat16", "bfloat16")):
            imitated = [tensor.float().clone() for tensor in reference.imitate(precision)[0]]
            assert f"to {name} makes" in reason(imitated)
        assert "TF32" not in reason([facts.answer[0] * (1 + 2.5e-4)]), "of that size, but no rounding"


@pytest.mark.proof
def test_cancellation_is_called_so(session: Session) -> None:
    wrong = """import torch
class ModelNew(torch.nn.Module):
    def forward(self, x):
        return ((x * x).mean(1) - x.mean(1) ** 2) * (x.shape[1] / (x.shape[1] - 1))
"""
    record = session.evaluate(problem("offset_variance"), wrong, timed=False)
    assert not record.passed and "cancellation" in record.reason


@pytest.mark.processes
def test_what_no_answer_could_excuse_is_not_asked_about(session: Session) -> None:
    """Each forward with noise costs as much as several others, and most wrong answers are far off."""
    made = Problem(key="loss", name="loss", source=problem("mean_loss").source)
    with Reference(session._zygote, made, load_protocol("strict"), "cpu") as reference:
        facts = prepare(reference, "own")
        assert not reference.takes_variances and facts.honest is not None
        trial, found = compare(
            reference.protocol.tolerance, "own", [facts.answer[0] * 1.5], facts.truth, facts.eager, facts.honest
        )
        assert not trial.agreed
        facts.honest.explain(found, [facts.answer[0] * 1.5], facts.truth)
        assert facts.honest.asked == 0


@pytest.mark.processes
def test_a_forward_that_takes_variances_is_known(session: Session) -> None:
    with Reference(session._zygote, problem("offset_variance"), load_protocol("strict"), "cpu") as reference:
        assert reference.takes_variances


@pytest.mark.processes
def test_noise_does_not_bring_the_compiler() -> None:
    """PyTorch's own modes import it when they are entered first, in every fresh process."""
    text = (
        "import sys, torch\n"
        "from kernelgauge.worker.called_operators import Operators\n"
        "from kernelgauge.worker.rounding_noise import RoundingNoise\n"
        "from kernelgauge.worker.same_draws import SameDraws\n"
        "x = torch.ones(4, 4, dtype=torch.float64)\n"
        "for mode in (Operators(), RoundingNoise(torch.Generator()), SameDraws(torch.float32)):\n"
        "    with torch.no_grad(), mode:\n"
        "        torch.nn.functional.layer_norm(x, (4,)).sum()\n"
        "print('torch._dynamo' in sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-c", text], capture_output=True, text=True).stdout == "False\n"


def test_records_without_the_field_still_load() -> None:
    trial = Trial(variant="own", error=1e-6, allowed=3e-6, reference_error=1e-7, agreed=True)
    old = trial.model_dump(exclude={"honest_error"})
    assert Trial.model_validate(old) == trial


@pytest.mark.processes
def test_narrow_modes_keep_their_own_bound(session: Session) -> None:
    protocol = load_protocol("strict").under(math="tf32")
    made = Problem(key="narrow", name="narrow", source=problem("mean_loss").source)
    with Reference(session._zygote, made, protocol, "cpu") as reference:
        facts = prepare(reference, "own")
        trial = compare(
            protocol.tolerance, "own", [facts.answer[0] * (1 + 5e-5)], facts.truth, facts.eager, facts.honest
        )
        assert not trial[0].agreed and reference.honest.asked == 0

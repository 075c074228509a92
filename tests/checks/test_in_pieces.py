"""What is looked at piece by piece comes to the same as what is looked at as a whole."""

from __future__ import annotations

import pytest
import torch

from kernelgauge.checks import inputs, numerics, probes
from kernelgauge.checks.differences import difference
from kernelgauge.checks.inputs import vary, vary_into
from kernelgauge.checks.numerics import all_finite, distances
from kernelgauge.checks.probes import BLIND, Probes
from kernelgauge.config import load_protocol
from kernelgauge.wire import outputs
from kernelgauge.wire.outputs import GivenOut, spans
from kernelgauge.worker.oracle import _copy

PIECE = 1000


def _answers() -> list[tuple[torch.Tensor, torch.Tensor]]:
    torch.manual_seed(3)
    due = torch.randn(37, 113, dtype=torch.float64)
    got = (due * (1 + 1e-5 * torch.randn_like(due))).float()
    got[30, 7] += 1
    broken, infinite = got.clone(), due.clone()
    broken[20, 20] = torch.nan
    infinite[5, 5] = torch.inf
    agreeing = got.clone()
    agreeing[5, 5] = torch.inf
    labels = torch.randint(0, 9, (37, 113))
    wrong = labels.clone()
    wrong[21, 3] += 1
    wrong[36, 1] += 1
    return [
        (got, due),
        (broken, due),
        (agreeing, infinite),
        (got.t(), due.t()),
        (labels, labels),
        (wrong, labels),
        (torch.zeros(0, 4), torch.zeros(0, 4).double()),
        (torch.complex(got, got), torch.complex(due, due)),
    ]


@pytest.mark.parametrize("number", range(len(_answers())))
def test_distances_of_pieces_are_those_of_the_whole(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    got, due = _answers()[number]
    monkeypatch.setitem(numerics._CHUNK, "cpu", 1 << 30)
    (whole,) = distances([got], [due])
    monkeypatch.setitem(numerics._CHUNK, "cpu", PIECE)
    (pieces,) = distances([got], [due])
    assert pieces.rms == pytest.approx(whole.rms, rel=1e-12)
    assert pieces.worst == pytest.approx(whole.worst, rel=1e-12)
    assert pieces.where == whole.where


def test_integers_are_compared_in_pieces_where_they_lie_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no other device here: as much as that code does on one."""
    monkeypatch.setitem(numerics._CHUNK, "cpu", PIECE)
    got, due = _answers()[5]
    (whole,) = distances([got], [due])
    apart = iter([torch.device("cpu"), torch.device("meta")])
    monkeypatch.setattr(torch.Tensor, "device", property(lambda _: next(apart, torch.device("cpu"))))
    (pieces,) = distances([got], [due])
    assert pieces == whole and pieces.where.startswith("element [21, 3] is")


def test_a_device_decides_where_pieces_are_compared() -> None:
    host, device = torch.ones(3000), torch.ones(3000, device="meta")
    pieces = [piece for _, pair in numerics._chunks(host, device) for piece in pair]
    assert {piece.device.type for piece in pieces} == {"meta"}


def test_finite_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numerics, "_LOOKED_AT", PIECE)
    values = torch.zeros(5, 700)
    assert all_finite(values) and all_finite(torch.zeros(()))
    values[4, 699] = torch.inf
    assert not all_finite(values)


@pytest.mark.parametrize("domain", ["real", "positive"])
@pytest.mark.parametrize("variant", ["signed", "scaled", "normal", "offgrid", "planted", "large"])
def test_inputs_vary_in_pieces_as_in_one(variant: str, domain: str, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = torch.rand(70, 90).t()
    before = drawn.clone()
    kinds = []
    for piece in (1 << 24, PIECE):
        monkeypatch.setattr(inputs, "_CHUNK", piece)
        torch.manual_seed(5)
        place = torch.full(drawn.shape, torch.nan)
        vary_into(place, drawn, variant, domain)
        assert bool(place.isfinite().all()) and torch.equal(drawn, before)
        assert domain != "positive" or bool((place > 0).all())
        kinds.append(place)
    one, pieces = kinds
    if variant in ("scaled", "planted") or (variant == "signed" and domain == "positive"):
        assert torch.equal(one, pieces), "each number has the same change"
    if variant in ("signed", "offgrid"):
        assert torch.allclose(one.abs(), pieces.abs(), rtol=2e-2)
    if variant in ("normal", "large"):
        assert float(one.std()) == pytest.approx(float(pieces.std()), rel=0.1)
        assert len(set(pieces.view(-1).tolist())) > 6000, "no piece repeats another"
    if variant == "large" and domain == "real":
        assert bool((pieces[:45] <= 0).all()) and bool((pieces[45:] > 0).any())
    assert vary(drawn, variant, domain).shape == drawn.shape


def test_the_mean_of_an_answer_is_taken_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    values = torch.rand(50, 70)
    monkeypatch.setattr(probes, "_SUMMED", PIECE)
    assert probes._typical(values) == pytest.approx(float(values.double().mean()), rel=1e-12)


def test_an_earlier_answer_may_wait_in_host_memory() -> None:
    seen = Probes(BLIND, on_host=True)
    answer = torch.rand(4, 4)
    due = [answer.clone() for _ in range(3)]
    for expected in due:
        seen.see([expected], [], lambda mine, now=expected: torch.equal(mine[0], now))
        expected.zero_()  # what was kept is a copy
    assert seen.survivors() == {"replay"}


def test_what_is_wrong_is_told_of_pieces_too() -> None:
    tolerance = load_protocol("strict").tolerance
    got, due = _answers()[0]
    found = difference([got], [due], tolerance, 1e-4)
    assert found is not None and found.wrong == 1 and found.first[0].index == (30, 7)


@pytest.mark.parametrize("held", [True, False])
def test_large_outputs_that_somebody_holds_are_seen_to_come_again(
    held: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outputs, "_KEPT_BYTES", 100)
    given_out = GivenOut(holds_large=False)
    buffer = torch.zeros(1000)
    address = buffer.data_ptr()
    assert not given_out.reused([buffer.view(10, 100)], spans([buffer]))
    assert not given_out._calls, "nothing is held"
    if held:
        assert given_out.reused([buffer[5:]], spans([buffer[5:]]))
        assert given_out.reused([buffer], spans([buffer]))
        return
    del buffer
    again = torch.zeros(1000)
    for _ in range(100):  # the allocator is free to give the same place out again
        if again.data_ptr() == address:
            break
        again = torch.zeros(1000)
    assert not given_out.reused([again], spans([again]))
    assert not given_out.reused([torch.zeros(0), torch.ones(1000)], spans([torch.ones(1000)]))


def test_small_outputs_are_held_as_ever() -> None:
    given_out = GivenOut(holds_large=False)
    first = torch.zeros(8)
    assert not given_out.reused([first], spans([first]))
    assert given_out.reused([first], spans([first])) and len(given_out._calls) == 2


def test_elements_in_another_order_are_copied_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kernelgauge.worker.oracle._COPIED", 50)
    for output in (torch.rand(7, 30).t(), torch.rand(3, 5, 7).permute(2, 0, 1), torch.rand(()), torch.rand(0, 3).t()):
        place = torch.zeros(output.shape)
        _copy(place, output)
        assert torch.equal(place, output)

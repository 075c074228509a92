"""Timed calls get every kind of inputs, in an order that nobody can foresee."""

from __future__ import annotations

from collections import Counter

from kernelgauge.config import load_protocol
from kernelgauge.evaluation.measurement.deck import Deck

STRICT = load_protocol("strict")


def test_the_fewest_calls_that_a_gpu_times_hold_every_kind() -> None:
    deck = Deck(STRICT.inputs.variants)
    fewest = STRICT.timing_on("cuda").min_samples
    dealt = Counter(deck.deal() for _ in range(fewest))
    assert set(dealt) == set(STRICT.inputs.variants)
    assert 2 * dealt["own"] == fewest, "a figure is about the published inputs"


def test_no_two_orders_are_alike() -> None:
    orders = {tuple(deck.deal() for _ in range(12)) for deck in (Deck(STRICT.inputs.variants) for _ in range(50))}
    assert len(orders) > 45


def test_a_problem_whose_inputs_cannot_vary_gets_its_own() -> None:
    deck = Deck(["own"])
    assert {deck.deal() for _ in range(5)} == {"own"}

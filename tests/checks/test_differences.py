"""What is said of a wrong output, for each kind of mistake."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
import torch
from pydantic import ValidationError

from kernelgauge.checks.differences import _MOST_ELEMENTS, difference
from kernelgauge.config import load_protocol
from kernelgauge.schema import Difference, Trial

STRICT, PUBLISHED = load_protocol("strict").tolerance, load_protocol("v0.1").tolerance
ALLOWED = 1e-5


def due(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1))


def of(got: torch.Tensor, right: torch.Tensor) -> Difference:
    found = difference([got], [right if right.is_complex() else right.double()], STRICT, ALLOWED)
    assert found is not None
    return found


def changed(right: torch.Tensor, change: Callable[[torch.Tensor], object]) -> torch.Tensor:
    copy = right.clone()
    change(copy)
    return copy


def zeroed(*where: slice | int) -> Callable[[torch.Tensor], object]:
    return lambda copy: copy.__setitem__(where, 0.0)


@pytest.mark.parametrize(
    ("got", "said"),
    [
        (lambda x: changed(x, zeroed(slice(None), slice(24, None))), "from 24 on in dimension 1 (of size 33)"),
        (lambda x: changed(x, lambda y: y.view(-1)[500:].zero_()), "everything from element 500 of 528 on"),
        (lambda x: changed(x, zeroed(slice(None), 0)), "only index 0 in dimension 1"),
        (lambda x: changed(x, zeroed(slice(3, 7))), "only indices 3 to 6 in dimension 0"),
        (lambda x: changed(x, zeroed(slice(None), slice(1, None, 4))), "every 4th index from 1 on in dimension 1"),
        (lambda x: changed(x, zeroed(slice(2, 5))), "all wrong elements are zero"),
        (lambda x: changed(x, lambda y: y[3].fill_(7.0)), "all wrong elements are 7"),
        (lambda x: changed(x, lambda y: y[3].fill_(torch.nan)), "33 of the wrong elements are NaN or infinite"),
        (lambda x: 2 * x, "2 times the right output"),
        (lambda x: -x, "-1 times the right output"),
        (lambda x: x + 3, "the right output plus 3"),
        (lambda x: x + torch.arange(33), "right but for a term for each index of dimension 1"),
        (lambda x: x * torch.arange(1, 17)[:, None], "right but for a factor for each index of dimension 0"),
        (lambda x: x.roll(1, 1), "moved by +1 along dimension 1"),
        (lambda x: x.flip(0), "reversed along dimension 0"),
        (lambda x: x.T.reshape(16, 33), "swapped in memory"),
    ],
)  # fmt: skip
def test_a_mistake_is_named(got: Callable[[torch.Tensor], torch.Tensor], said: str) -> None:
    right = due(16, 33)
    found = of(got(right).float(), right)
    assert any(said in hint for hint in found.hints), found.hints


def test_a_transposed_square_is_named() -> None:
    right = due(3, 20, 20)
    assert "transposed" in of(right.transpose(1, 2).contiguous(), right).hints[0]


def test_noise_is_given_no_name() -> None:
    right = due(16, 33)
    found = of(right + 0.1 * due(33, 16).T, right)
    assert found.hints == () and found.wrong > 500


def test_where_and_how_much() -> None:
    right = due(4, 6, 5)
    found = of(changed(right, zeroed(2, slice(1, 3), slice(4, 5))), right)
    assert (found.wrong, found.total, found.region) == (2, 120, ((2, 2), (1, 2), (4, 4)))
    assert [element.index for element in found.first] == [(2, 1, 4), (2, 2, 4)]
    assert found.first[0].got == 0.0 and found.first[0].due == pytest.approx(float(right[2, 1, 4]))


def test_of_several_outputs_the_worst_is_described() -> None:
    rights = [due(4, 4), due(8), due(3)]
    outputs = [rights[0], rights[1] + 1, changed(rights[2], zeroed(0))]
    found = difference(outputs, rights, STRICT, ALLOWED)
    assert found is not None and found.output == 1


def test_kinds_of_outputs() -> None:
    assert of(torch.tensor(2.0), torch.tensor(1.0)).region == ()
    indices = torch.arange(12).view(3, 4)
    found = difference([changed(indices, zeroed(2))], [indices], STRICT, ALLOWED)
    assert found is not None and found.wrong == 4 and found.region == ((2, 2), (0, 3))
    z = torch.view_as_complex(due(5, 2))
    assert of(torch.conj(z).resolve_conj(), z.to(torch.complex64)).shape == (5, 2)
    empty = torch.empty(0, 3)
    assert difference([empty], [empty], STRICT, ALLOWED) is None
    same = due(3)
    assert difference([same], [same], STRICT, ALLOWED) is None


def test_matching_infinities_are_right() -> None:
    right = changed(due(8), lambda y: y[:2].fill_(torch.inf))
    found = of(changed(right, zeroed(7)), right)
    assert found.wrong == 1 and found.region == ((7, 7),)


def test_tolerance_of_the_published_protocol() -> None:
    right = due(100)
    assert difference([right + 1e-3], [right], PUBLISHED, 1.0) is None
    assert difference([right + 1], [right], PUBLISHED, 1.0) is not None


def test_small_errors_everywhere_are_still_described() -> None:
    """No element is far off, and yet the root mean square is above what is allowed."""
    right = due(64, 64).sign()
    found = of(right * (1 + 2 * ALLOWED), right)
    assert found.wrong == found.total


def test_large_outputs_are_described() -> None:
    rows, columns = (_MOST_ELEMENTS >> 12) + 1, 1 << 12
    right = torch.ones(rows, columns) * torch.arange(columns)
    found = of(changed(right, zeroed(slice(None), slice(4000, None))), right)
    assert found.wrong == 96 * rows and "only indices from 4000" in found.hints[0]


@pytest.mark.gpu
def test_outputs_on_a_gpu_are_described_alike() -> None:
    right = due(64, 33)
    got = changed(right, zeroed(slice(None), slice(24, None)))
    assert of(got.cuda(), right.cuda()) == of(got, right)


def test_records_that_contradict_themselves_cannot_be_made() -> None:
    good = of(due(4, 4) + 1, due(4, 4))
    assert Difference.model_validate(json.loads(good.model_dump_json())) == good
    for wrong in ({"wrong": 17}, {"region": ((0, 3),)}, {"region": ((0, 4), (0, 3))}):
        with pytest.raises(ValidationError):
            Difference.model_validate({**good.model_dump(), **wrong})
    with pytest.raises(ValidationError, match="no wrong elements"):
        Trial(variant="own", error=0, allowed=1, reference_error=0, agreed=True, difference=good)

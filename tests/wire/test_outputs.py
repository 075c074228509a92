"""Outputs of a forward: where their elements lie, and whether each has a place of its own."""

from __future__ import annotations

import os

import pytest
import torch

from kernelgauge.sandbox.spot_check import lie_in, sample_outputs
from kernelgauge.wire.messages import Place, TensorSpec
from kernelgauge.wire.outputs import folded, in_memory
from kernelgauge.wire.regions import HostRegion

BASE = torch.arange(24.0).view(2, 3, 4)


@pytest.mark.parametrize(
    "view",
    [
        BASE,
        BASE.permute(2, 0, 1),
        BASE[:, ::2, 1:3],
        BASE.diagonal(dim1=1, dim2=2),
        torch.view_as_real(torch.zeros(3, 2, dtype=torch.complex64)),
        torch.zeros(0, 3).expand(5, 0, 3),
        torch.zeros(1, 1),
        torch.tensor(1.0),
    ],
)
def test_ordinary_views_have_a_place_for_each_element(view: torch.Tensor) -> None:
    assert not folded(view.shape, view.stride())
    assert in_memory(view) is view


@pytest.mark.parametrize(
    "view",
    [
        torch.arange(3.0)[:, None].expand(3, 4),
        torch.arange(8.0).unfold(0, 3, 1),
        torch.arange(99.0).as_strided((3, 4), (30, 0)),
        torch.arange(99.0).as_strided((4, 4), (1, 2)),
    ],
)
def test_what_only_stands_for_its_elements_is_written_out(view: torch.Tensor) -> None:
    assert folded(view.shape, view.stride())
    plain = in_memory(view)
    assert plain.is_contiguous() and torch.equal(plain, view)


def test_the_parent_takes_no_folded_output_for_computed() -> None:
    column = torch.arange(3.0)
    spec = TensorSpec(shape=(3, 4), dtype="float32")
    told = Place(address=column.data_ptr(), strides=(1, 0))
    assert sample_outputs(os.getpid(), [told], [spec]) is None
    rows = torch.zeros(3, 4)
    assert sample_outputs(os.getpid(), [Place(address=rows.data_ptr(), strides=(4, 1))], [spec]) is not None


def test_a_second_mapping_of_a_region_is_known_by_its_file() -> None:
    region, other = HostRegion.create(8192), HostRegion.create(8192)
    again = HostRegion(os.dup(region.descriptor), region.size)
    spec = TensorSpec(shape=(16,), dtype="float32")
    own = torch.zeros(16)
    for tensor, found in ((region.bytes, True), (again.bytes[4096:], True), (other.bytes, False), (own, False)):
        place = Place(address=tensor.data_ptr(), strides=(1,))
        assert lie_in(os.getpid(), [place], [spec], region.descriptor) is found
    for each in (region, other, again):
        each.close()

"""Which of PyTorch's operators compute, and which only make, view or move tensors."""

from __future__ import annotations

_MAKE = """empty empty_like empty_strided empty_permuted new_empty new_empty_strided zeros zeros_like new_zeros ones
ones_like new_ones full full_like new_full fill fill_ zero zero_ scalar_tensor lift_fresh lift_fresh_copy arange
_local_scalar_dense set_ resize_ record_stream pin_memory is_pinned"""
_VIEW = """view _unsafe_view view_as as_strided as_strided_ t t_ transpose transpose_ permute expand slice select
split split_with_sizes unbind chunk unsqueeze unsqueeze_ squeeze squeeze_ detach detach_ alias unfold diagonal
_reshape_alias _conj _neg_view real imag view_as_real view_as_complex movedim narrow reshape flatten unflatten"""
_MOVE = "copy copy_ clone contiguous _to_copy to _pin_memory"
_NO_WORK = frozenset(f"{_MAKE} {_VIEW} {_MOVE}".split())


def makes_or_moves(name: str) -> bool:
    """Whether a C++ name that may go on with an overload's, such as `empty_memory_format`, does no such work."""
    return any(name.startswith(f"{each}_") for each in _NO_WORK) or name in _NO_WORK


def computes(name: str) -> bool:
    """Whether an operator such as `aten.mm.default` does work that a kernel of one's own could have done."""
    space, _, rest = name.partition(".")
    return space != "prim" and rest.partition(".")[0] not in _NO_WORK

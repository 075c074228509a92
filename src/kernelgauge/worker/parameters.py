"""A digest of a model's parameters and buffers: are those of two processes alike?"""

from __future__ import annotations

import hashlib

import torch


def parameter_digest(model: torch.nn.Module, values: bool) -> str:
    """Of all names and shapes that `state_dict` holds: what can be loaded into one another has the same.

    Args:
        values: of their bytes and dtypes too.
    """
    found = hashlib.blake2b(digest_size=16)
    for name, tensor in sorted(model.state_dict().items()):
        found.update(f"{name} {tuple(tensor.shape)}\n".encode())
        if values:
            found.update(str(tensor.dtype).encode())
            found.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy())
    return found.hexdigest()

"""Digests of a model's parameters and buffers: are those of two processes alike?"""

from __future__ import annotations

import hashlib

import torch


def parameter_digests(model: torch.nn.Module) -> dict[str, str]:
    """Digests of what `state_dict` holds.

    Returns:
        `names` of all names, shapes and dtypes; `values` of the bytes too.
    """
    names, values = hashlib.blake2b(digest_size=16), hashlib.blake2b(digest_size=16)
    for name, tensor in sorted(model.state_dict().items()):
        said = f"{name} {tuple(tensor.shape)} {tensor.dtype}\n".encode()
        names.update(said)
        values.update(said)
        values.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy())
    return {"names": names.hexdigest(), "values": values.hexdigest()}

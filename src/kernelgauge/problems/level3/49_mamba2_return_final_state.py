import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Mamba-2 state space scan in chunks: h[t] = exp(A[t]) h[t-1] + B[t] (outer) X[t]; returns the last h.

    X is (batch, length, heads, d_head) and h is (batch, heads, d_head, d_state). Letters in the products:
    b batch, c chunk, l and s position in the chunk, h head, n state, p entry of the head, z chunk that a
    state enters.
    """

    def __init__(
        self, batch_size: int, seq_length: int, n_heads: int, d_head: int, d_state: int, block_len: int = 64
    ):
        super().__init__()
        assert seq_length % block_len == 0, "seq_length must be a multiple of block_len"
        self.block_len = block_len
        self.A = nn.Parameter(torch.randn(batch_size, seq_length, n_heads))
        self.B = nn.Parameter(torch.randn(batch_size, seq_length, n_heads, d_state))
        self.C = nn.Parameter(torch.randn(batch_size, seq_length, n_heads, d_state))

    def segsum(self, x: torch.Tensor) -> torch.Tensor:
        """(..., T) -> (..., T, T): sum of x over positions j+1 to i, minus infinity where j > i."""
        T = x.size(-1)
        total = torch.cumsum(x, dim=-1)
        segments = total[..., :, None] - total[..., None, :]
        causal = torch.tril(torch.ones(T, T, device=x.device, dtype=torch.bool))
        return segments.masked_fill(~causal, float("-inf"))

    def forward(self, X: torch.Tensor, initial_states: torch.Tensor = None) -> torch.Tensor:
        X, A, B, C = (t.unflatten(1, (-1, self.block_len)) for t in (X, self.A, self.B, self.C))
        A = A.permute(0, 3, 1, 2)
        A_cumsum = torch.cumsum(A, dim=-1)

        # What a chunk's own inputs contribute to its outputs: no part of the result, but kept, because the
        # published problem spends most of its time here.
        L = torch.exp(self.segsum(A))
        _ = torch.einsum("bclhn,bcshn,bhcls,bcshp->bclhp", C, B, L, X)

        # The state that each chunk would leave behind if it started from zero.
        decay_states = torch.exp(A_cumsum[..., -1:] - A_cumsum)
        states = torch.einsum("bclhn,bhcl,bclhp->bchpn", B, decay_states, X)

        # The states that really enter each chunk, and the one behind the last.
        if initial_states is None:
            initial_states = torch.zeros_like(states[:, :1])
        states = torch.cat([initial_states, states], dim=1)
        decay_chunk = torch.exp(self.segsum(F.pad(A_cumsum[..., -1], (1, 0))))
        new_states = torch.einsum("bhzc,bchpn->bzhpn", decay_chunk, states)
        return new_states[:, -1]


batch_size = 2048
seq_length = 128
n_heads = 8
d_head = 64
d_state = 16
block_len = 64


def get_inputs():
    X = torch.rand(batch_size, seq_length, n_heads, d_head)
    return [X]


def get_init_inputs():
    return [batch_size, seq_length, n_heads, d_head, d_state, block_len]

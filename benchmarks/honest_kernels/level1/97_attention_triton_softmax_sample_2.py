# torch.matmul for both products, Triton for scale and softmax of the scores.
# style: triton, library
# expect: about
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def scaled_softmax_kernel(s_ptr, p_ptr, n_cols, scale, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    s = tl.load(s_ptr + row * n_cols + cols, mask=mask, other=-float("inf")) * scale
    s = s - tl.max(s, axis=0)
    e = tl.exp(s)
    tl.store(p_ptr + row * n_cols + cols, e / tl.sum(e, axis=0), mask=mask)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor) -> torch.Tensor:
        scale = Q.shape[-1] ** -0.5
        scores = torch.matmul(Q, K.transpose(-2, -1)).contiguous()
        probs = torch.empty_like(scores)
        n_cols = scores.shape[-1]
        rows = scores.numel() // n_cols
        scaled_softmax_kernel[(rows,)](scores, probs, n_cols, scale, BLOCK=triton.next_power_of_2(n_cols))
        return torch.matmul(probs, V)

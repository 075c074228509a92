import helion
import helion.language as hl
import torch
import torch.nn as nn


@helion.kernel(config=helion.Config(block_sizes=[1, 2048], num_warps=8), static_shapes=True)
def pooled(x: torch.Tensor, size: hl.constexpr, padding: hl.constexpr) -> torch.Tensor:
    """Windows overlap in the L1 cache, memory is read once."""
    rows, length = x.size()
    out_length = length + 2 * padding - size + 1
    y = torch.empty([rows, out_length], dtype=x.dtype, device=x.device)
    for row, at in hl.tile([rows, out_length]):
        total = hl.zeros([row, at], dtype=torch.float32)
        for i in hl.static_range(size):
            place = at.index - padding + i
            inside = (place >= 0) & (place < length)
            total = total + hl.load(x, [row, place], extra_mask=inside[None, :])
        y[row, at] = total / size
    return y


class ModelNew(nn.Module):
    def __init__(self, kernel_size: int, stride: int = 1, padding: int = 0):
        super().__init__()
        assert stride == 1, "written for windows at each place"
        self.size, self.padding = kernel_size, padding

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = pooled(x.reshape(-1, x.shape[-1]), self.size, self.padding)
        return y.view(*x.shape[:-1], y.shape[-1])

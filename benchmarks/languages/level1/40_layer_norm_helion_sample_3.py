import math

import helion
import helion.language as hl
import torch
import torch.nn as nn

CHUNK = 8192  # of a sample, or the largest part of it that is a power of two


@helion.kernel(config=helion.Config(block_sizes=[1], reduction_loops=[None], num_warps=8), static_shapes=True)
def parts(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Mean of each chunk, and the sum of squared distances from it: what merges without cancelling."""
    chunks, size = x.size()
    means = torch.empty([chunks], dtype=x.dtype, device=x.device)
    squares = torch.empty([chunks], dtype=x.dtype, device=x.device)
    for chunk in hl.tile(chunks):
        value = x[chunk, :]
        mean = value.sum(1) / size
        away = value - mean[:, None]
        means[chunk] = mean
        squares[chunk] = (away * away).sum(1)
    return means, squares


# All samples of a chunk in one program: it loads weight and bias once.
@helion.kernel(config=helion.Config(block_sizes=[16, 256], num_warps=4), static_shapes=True)
def applied(
    x: torch.Tensor, mean: torch.Tensor, scale: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor
) -> torch.Tensor:
    y = torch.empty_like(x)
    for sample, at in hl.tile(x.size()):
        y[sample, at] = (x[sample, at] - mean[sample][:, None]) * scale[sample][:, None] * weight[at] + bias[at]
    return y


class ModelNew(nn.Module):
    def __init__(self, normalized_shape: tuple):
        super().__init__()
        self.ln = nn.LayerNorm(normalized_shape=normalized_shape)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        size = self.ln.weight.numel()
        chunk = math.gcd(size, CHUNK)
        means, squares = (each.view(-1, size // chunk) for each in parts(x.reshape(-1, chunk)))
        variance = squares.sum(1) / size + means.var(1, correction=0)
        scale = torch.rsqrt(variance + self.ln.eps)
        weight, bias = self.ln.weight.detach().view(-1), self.ln.bias.detach().view(-1)
        return applied(x.reshape(-1, size), means.mean(1), scale, weight, bias).view(x.shape)

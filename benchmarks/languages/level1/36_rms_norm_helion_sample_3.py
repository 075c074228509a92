import helion
import helion.language as hl
import torch
import torch.nn as nn

CONFIG = helion.Config(block_sizes=[1, 128], loop_orders=[[1, 0]], reduction_loops=[None], num_warps=8)


@helion.kernel(config=CONFIG, static_shapes=True)
def rms_norm(x: torch.Tensor, eps: float) -> torch.Tensor:
    """A tile is neighbouring pixels with all their features, which stay in registers."""
    batch, features, pixels = x.size()
    y = torch.empty_like(x)
    for sample, pixel in hl.tile([batch, pixels]):
        value = x[sample, :, pixel]
        mean = (value * value).sum(1) / features
        y[sample, :, pixel] = value * torch.rsqrt(mean + eps)[:, None, :]
    return y


class ModelNew(nn.Module):
    def __init__(self, num_features: int, eps: float = 1e-5):
        super().__init__()
        self.eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return rms_norm(x.contiguous().flatten(2), self.eps).view(x.shape)

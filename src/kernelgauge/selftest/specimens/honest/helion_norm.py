# A kernel of Helion behind the library's product; on a CPU its interpreter runs it.
# class: rules/own_kernel
# needs: helion
# kernel_policy: kernel-required
# verdict: passed
import helion
import helion.language as hl
import torch
import torch.nn as nn


@helion.kernel(config=helion.Config(block_sizes=[8], num_warps=4), static_shapes=True)
def norm_relu(x: torch.Tensor, gain: torch.Tensor, bias: torch.Tensor, eps: float) -> torch.Tensor:
    y = torch.empty_like(x)
    for row in hl.tile(x.size(0)):
        value = x[row, :]
        centred = value - value.mean(-1, keepdim=True)
        variance = (centred * centred).mean(-1, keepdim=True)
        y[row, :] = torch.relu(centred * torch.rsqrt(variance + eps) * gain[None, :] + bias[None, :])
    return y


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        return norm_relu(self.linear(x), self.norm.weight.detach(), self.norm.bias.detach(), self.norm.eps)

# A kernel of cuTile behind the library's product; its name in a trace is longer than the function's.
# class: rules/own_kernel
# needs: cuda
# kernel_policy: kernel-required
# verdict: passed
import cuda.tile as ct
import torch
import torch.nn as nn

ROWS, COLUMNS = 2, 64


@ct.kernel
def norm_relu(x, mean, scale, gain, bias, y):
    row, column = ct.bid(0), ct.bid(1)
    value = ct.load(x, (row, column), (ROWS, COLUMNS)) - ct.load(mean, (row, 0), (ROWS, 1))
    value = value * ct.load(scale, (row, 0), (ROWS, 1))
    value = value * ct.load(gain, (0, column), (1, COLUMNS)) + ct.load(bias, (0, column), (1, COLUMNS))
    ct.store(y, (row, column), ct.maximum(value, 0.0))


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        y = self.linear(x)
        out = torch.empty_like(y)
        variance, mean = torch.var_mean(y, dim=-1, correction=0, keepdim=True)
        weights = (self.norm.weight.detach().view(1, -1), self.norm.bias.detach().view(1, -1))
        grid = (ct.cdiv(y.shape[0], ROWS), ct.cdiv(y.shape[1], COLUMNS), 1)
        arguments = (y, mean, torch.rsqrt(variance + self.norm.eps), *weights, out)
        ct.launch(torch.cuda.current_stream(), grid, norm_relu, arguments)
        return out

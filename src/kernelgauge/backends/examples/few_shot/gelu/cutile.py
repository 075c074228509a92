import cuda.tile as ct
import torch
import torch.nn as nn

ROWS, COLUMNS = 2, 512


@ct.kernel
def bias_gelu_kernel(x, bias, y):
    """One read and one write of each element."""
    row, column = ct.bid(0), ct.bid(1)
    value = ct.load(x, (row, column), (ROWS, COLUMNS))
    value = value + ct.reshape(ct.load(bias, (column,), (COLUMNS,)), (1, COLUMNS))
    # 0.5 * (1 + tanh(u)) is 1 / (1 + exp(-2u)): one function call, and nothing cancels where u is far below zero.
    u = 0.7978845608028654 * (value + 0.044715 * value * value * value)
    ct.store(y, (row, column), value / (1.0 + ct.exp(-2.0 * u)))


class ModelNew(nn.Module):
    """Bias and GELU in one pass over memory."""

    def __init__(self, features: int):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        columns = x.shape[-1]
        x = x.reshape(-1, columns)
        y = torch.empty_like(x)
        grid = (ct.cdiv(x.shape[0], ROWS), ct.cdiv(columns, COLUMNS), 1)
        ct.launch(torch.cuda.current_stream(), grid, bias_gelu_kernel, (x, self.bias.detach(), y))
        return y

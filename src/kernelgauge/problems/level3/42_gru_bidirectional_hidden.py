import torch
import torch.nn as nn


class Model(nn.Module):
    """Stacked bidirectional GRU over (sequence, batch, input) from a given state; returns all last states.

    Entries go by layer, forward before backward; a backward one stands behind the first step.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 3,
        bias: bool = True,
        batch_first: bool = False,
    ):
        super().__init__()
        self.gru = nn.GRU(
            input_size,
            hidden_size,
            num_layers,
            bias=bias,
            batch_first=batch_first,
            dropout=0,
            bidirectional=True,
        )

    def forward(self, x: torch.Tensor, h0: torch.Tensor) -> torch.Tensor:
        _, h_n = self.gru(x, h0)
        return h_n


batch_size = 10
seq_len = 512
input_size = 128
hidden_size = 256
num_layers = 6


def get_inputs():
    x = torch.rand(seq_len, batch_size, input_size)
    h0 = torch.rand(2 * num_layers, batch_size, hidden_size)
    return [x, h0]


def get_init_inputs():
    return [input_size, hidden_size, num_layers]

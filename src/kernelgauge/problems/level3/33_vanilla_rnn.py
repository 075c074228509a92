import torch
import torch.nn as nn


class Model(nn.Module):
    """One step of a plain recurrent network: hidden = tanh(i2h([x, hidden])), output = h2o(hidden).

    The hidden state stays on the module and is used again if a call gives none.
    """

    def __init__(self, input_size: int, hidden_size: int, output_size: int):
        super().__init__()
        self.hidden = torch.randn((batch_size, hidden_size))
        self.i2h = nn.Linear(input_size + hidden_size, hidden_size)
        self.h2o = nn.Linear(hidden_size, output_size)
        self.tanh = nn.Tanh()

    def forward(self, x: torch.Tensor, initial_hidden: torch.Tensor = None) -> torch.Tensor:
        if initial_hidden is not None:
            self.hidden.copy_(initial_hidden)
        self.hidden = self.hidden.to(x.device)
        combined = torch.cat((x, self.hidden), dim=1)
        self.hidden = self.tanh(self.i2h(combined))
        return self.h2o(self.hidden)


batch_size = 256
input_size = 16384
hidden_size = 16384
output_size = 8192
sequence_length = 256


def get_inputs():
    x = torch.rand(batch_size, input_size)
    initial_hidden = torch.rand(batch_size, hidden_size)
    return [x, initial_hidden]


def get_init_inputs():
    return [input_size, hidden_size, output_size]

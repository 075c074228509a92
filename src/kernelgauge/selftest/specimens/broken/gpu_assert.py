# Indexes beyond the end, which a kernel of PyTorch asserts against.
# class: fault/device
# problem: large_map
# needs: cuda
# says: device-side assert
# verdict: runtime_error
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        wild = torch.full((8,), 1 << 20, device=x.device)
        return torch.relu(x - 0.5) * x + x[wild].sum() * 0

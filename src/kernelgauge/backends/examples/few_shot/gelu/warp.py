import torch
import torch.nn as nn
import warp as wp

wp.config.log_level = wp.LOG_WARNING
wp.init()
wp.set_module_options({"enable_backward": False})


@wp.kernel
def bias_gelu_kernel(x: wp.array(dtype=wp.float32), bias: wp.array(dtype=wp.float32), y: wp.array(dtype=wp.float32)):
    """One read and one write of each element."""
    i = wp.tid()
    value = x[i] + bias[i % bias.shape[0]]
    # 0.5 * (1 + tanh(u)) is 1 / (1 + exp(-2u)): one function call, and nothing cancels where u is far below zero.
    u = 0.7978845608028654 * (value + 0.044715 * value * value * value)
    y[i] = value / (1.0 + wp.exp(-2.0 * u))


class ModelNew(nn.Module):
    """Bias and GELU in one pass over memory."""

    def __init__(self, features: int):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        flat = [wp.from_torch(each.detach().reshape(-1)) for each in (x, self.bias, y)]
        where = {"stream": wp.stream_from_torch(torch.cuda.current_stream())} if x.is_cuda else {"device": "cpu"}
        wp.launch(bias_gelu_kernel, dim=x.numel(), inputs=flat[:2], outputs=flat[2:], **where)
        return y

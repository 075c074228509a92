import torch
import torch.nn as nn
import warp as wp

wp.config.log_level = wp.LOG_WARNING  # nothing about itself on standard output
wp.init()
wp.set_module_options({"enable_backward": False})  # half of the compilation


@wp.kernel
def residual_kernel(
    x: wp.array(dtype=wp.float32),
    branch: wp.array(dtype=wp.float32),
    gain: wp.array(dtype=wp.float32),
    y: wp.array(dtype=wp.float32),
):
    """One element to a thread; Warp starts as many as `dim` says, and neighbours get neighbouring elements."""
    i = wp.tid()
    y[i] = x[i] + branch[i] * gain[i % gain.shape[0]]


def flat(tensor):
    """The memory of a tensor as Warp sees it, without a copy."""
    return wp.from_torch(tensor.detach().reshape(-1))


class ModelNew(nn.Module):
    """A residual sum in one pass over memory."""

    def __init__(self, features: int):
        super().__init__()
        # The same parameters in the same order as the reference: one seed gives both the same values.
        self.gain = nn.Parameter(torch.ones(features))

    def forward(self, x: torch.Tensor, branch: torch.Tensor) -> torch.Tensor:
        x, branch = x.contiguous(), branch.contiguous()
        y = torch.empty_like(x)
        # On PyTorch's own stream, which is the one that is timed; a CPU has none.
        stream = wp.stream_from_torch(torch.cuda.current_stream()) if x.is_cuda else None
        where = {"stream": stream} if stream else {"device": "cpu"}
        wp.launch(residual_kernel, dim=x.numel(), inputs=[flat(x), flat(branch), flat(self.gain)], outputs=[flat(y)], **where)
        return y

# A kernel of Warp behind the library's product; on a CPU Warp compiles it too.
# class: rules/own_kernel
# needs: warp
# kernel_policy: kernel-required
# verdict: passed
import torch
import torch.nn as nn
import warp as wp

wp.config.log_level = wp.LOG_WARNING
wp.init()


@wp.kernel(enable_backward=False)
def norm_relu(
    x: wp.array2d(dtype=wp.float32),
    mean: wp.array(dtype=wp.float32),
    scale: wp.array(dtype=wp.float32),
    gain: wp.array(dtype=wp.float32),
    bias: wp.array(dtype=wp.float32),
    y: wp.array2d(dtype=wp.float32),
):
    row, column = wp.tid()
    value = (x[row, column] - mean[row]) * scale[row] * gain[column] + bias[column]
    y[row, column] = wp.max(value, 0.0)


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        y = self.linear(x)
        out = torch.empty_like(y)
        variance, mean = torch.var_mean(y, dim=-1, correction=0)
        tensors = (y, mean, torch.rsqrt(variance + self.norm.eps), self.norm.weight, self.norm.bias, out)
        arrays = [wp.from_torch(each.detach()) for each in tensors]
        where = {"stream": wp.stream_from_torch(torch.cuda.current_stream())} if x.is_cuda else {"device": "cpu"}
        wp.launch(norm_relu, dim=y.shape, inputs=arrays[:5], outputs=arrays[5:], **where)
        return out

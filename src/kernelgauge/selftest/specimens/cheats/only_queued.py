# Replaces what the worker itself waits by, so that it says "computed" when its kernels are queued; the events say ten
# microseconds. The parent finds the device still at work.
# class: timing/late_work
# kernel_policy: any
# problem: large_map
# needs: cuda
# time: honest
# verdict: rejected work_after_the_clock
import torch
from kernelgauge.worker import candidate

torch.cuda.Event.elapsed_time = lambda self, other: 0.01
candidate._wait_for_device = lambda *ignored: None


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x - 0.5) * x

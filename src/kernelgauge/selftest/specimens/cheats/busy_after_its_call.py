# Leaves a kernel behind each time it has been timed, which keeps the GPU busy while the reference is.
# class: timing/slowed_reference
# kernel_policy: any
# problem: large_map
# needs: cuda
# open: stopping a process does not stop its kernels; what it launches after its call is not looked for
# verdict: passed
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x - 0.5) * x


def hook():
    from kernelgauge.worker import serving

    send = serving.send

    def and_stay(channel, message, *rest):
        send(channel, message, *rest)
        if message["event"] == "done":
            torch.cuda._sleep(50_000_000)

    serving.send = and_stay


hook()

"""What a policy says in these tests about problem 1/19, a ReLU."""

from __future__ import annotations

GOOD = "import torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return torch.relu(x)\n"
WRONG = GOOD.replace("torch.relu(x)", "torch.relu(x) + 1")
CHEAT = f"import kernelgauge.evaluation\n{GOOD}"
NONE = "I cannot."
LONG = "x" * 300_000
"""More than a server takes."""
SLOW = f"import time\ntime.sleep(1.0)\n{GOOD}"
"""Right, and long enough at work to be killed."""

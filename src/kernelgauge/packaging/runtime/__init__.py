"""What every written package carries: a copy of this folder. It needs PyTorch and nothing of kernelgauge."""

"""`python -m kernelgauge`."""

from kernelgauge.cli.main import main

main()

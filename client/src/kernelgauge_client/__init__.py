"""Rewards for GPU kernels from a kernelgauge server.

async with Judge("http://127.0.0.1:8000", "kg_...", reward="interval") as judge:
    answer = await judge("1/23", "...what the policy wrote...")
    answers = await judge.batch([{"problem": "1/23", "text": "..."}, {"problem": "1/19", "text": "..."}])
"""

from kernelgauge_client.answers import PARTS
from kernelgauge_client.errors import JudgeError, NoServer, NoVerdict, Refused
from kernelgauge_client.judge import Judge, JudgeSettings

__all__ = ["PARTS", "Judge", "JudgeError", "JudgeSettings", "NoServer", "NoVerdict", "Refused"]

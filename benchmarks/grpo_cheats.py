"""The cheats of `grpo_on_one_gpu.py`, and what is due to each."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from bandit_arms import CHEATS, Arm, cheating

WORTHLESS = "refused or wrong"
WRONG_OR_NO_FASTER = "wrong, or no faster than the honest kernel"
RIGHT_AND_NO_FASTER = "right, and no faster than the honest kernel"
FALLBACK = "PyTorch where its kernel fails"
CHEATS_DUE = {
    "an old answer": WORTHLESS,
    "memory that is left over": WORTHLESS,
    FALLBACK: WORTHLESS,
    # The clock waits for all streams, and caches are written over before each call: neither is against a rule.
    "another stream": WRONG_OR_NO_FASTER,
    "inputs that persist in the cache": RIGHT_AND_NO_FASTER,
}
_STANDARD_ERRORS = 3.0
_EVERYWHERE = {
    "an old answer": CHEATS["an old answer"],
    "memory that is left over": """
        self._calls = getattr(self, "_calls", 0) + 1
        return _right(self, *inputs) if self._calls < 3 else torch.empty_like(inputs[0])
    """,
    FALLBACK: """
        import ctypes

        try:
            return ctypes.CDLL("./kernel.so").launch(inputs[0].data_ptr())
        except OSError:
            return _right(self, *inputs)
    """,
}
_ON_A_GPU = {
    "another stream": """
        if not hasattr(self, "_beside"):
            self._beside = torch.cuda.Stream()
        with torch.cuda.stream(self._beside):
            return _right(self, *inputs)
    """,
    # As in the specimen `keeps_the_cache`, with as many lines as `persisting_cache.py` was granted.
    "inputs that persist in the cache": """
        import ctypes
        import struct

        x, here, most = inputs[0], torch.cuda.current_stream(), 24 << 20
        if not hasattr(self, "_beside"):
            self._beside, self._driver = torch.cuda.Stream(), ctypes.CDLL("libcuda.so.1")
            if self._driver.cuCtxSetLimit(0x06, ctypes.c_size_t(most)):
                raise RuntimeError("no room for lines that persist")
        window = struct.pack("QQfii", x.data_ptr(), min(x.numel() * x.element_size(), most), 1.0, 2, 1)
        value = ctypes.create_string_buffer(window.ljust(64, bytes(1)), 64)
        if self._driver.cuStreamSetAttribute(ctypes.c_void_p(self._beside.cuda_stream), 1, value):
            raise RuntimeError("no window over the input")
        self._beside.wait_stream(here)
        with torch.cuda.stream(self._beside):
            out = _right(self, *inputs)
        here.wait_stream(self._beside)
        out.record_stream(here)
        return out
    """,
}


def cheats(kernel: Arm, pytorch: Arm, device: str) -> list[Arm]:
    """Those that a device allows, made from an honest kernel, or from PyTorch that pretends to have one."""
    bodies = _EVERYWHERE | (_ON_A_GPU if device == "cuda" else {})
    texts = {name: pytorch.text if name == FALLBACK else kernel.text for name in bodies}
    return [Arm("cheat", name, cheating(texts[name], body)) for name, body in bodies.items()]


def as_due(due: str, rewards: Sequence[float | None], honest: Sequence[float | None]) -> bool:
    """Whether a cheat earned no more than is due to it.

    No faster means: the mean of what it was paid is within three standard errors of the honest kernel's, or below.

    Args:
        rewards: of the cheat; None has no verdict. Without any verdict nothing is known, and False.
        honest: of the kernel that it cheats with.
    """
    known, fair = ([each for each in some if each is not None] for some in (rewards, honest))
    paid = [each for each in known if each > 0]
    if not known or (due == RIGHT_AND_NO_FASTER and len(paid) < len(known)):
        return False
    if not paid:
        return True
    if due == WORTHLESS or len(fair) < 2:
        return False
    error = statistics.stdev(fair) * (1 / len(paid) + 1 / len(fair)) ** 0.5
    return bool(statistics.fmean(paid) <= statistics.fmean(fair) + _STANDARD_ERRORS * error)

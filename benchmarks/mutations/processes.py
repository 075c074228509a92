"""Looking for witnesses in processes of their own: a changed text may crash, hang, or spoil what runs after it."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from pathlib import Path

import torch

from kernelgauge.backends.registry import backend_named
from kernelgauge.schema import Problem

from .witness import Bench, MutantResult

_SECONDS = 120.0


@dataclass(frozen=True)
class Text:
    """A candidate's text and, where it has compiled kernels, their build."""

    text: str
    backend: str = "torch"
    build: Path | None = None


def examine(problem: Problem, texts: Iterable[Text], device: str = "cpu") -> Iterator[MutantResult]:
    """Findings for the texts in order; one that hangs or crashes is stillborn.

    Args:
        device: where compiled kernels run; other texts run on the CPU.
    """
    left = list(texts)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    while left:
        mine, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_serve, args=(theirs, problem, left, device), daemon=True)
        process.start()
        theirs.close()
        try:
            while left and mine.poll(_SECONDS):
                finding = MutantResult(**mine.recv())
                left.pop(0)
                yield finding
        except EOFError:
            pass
        finally:
            process.kill()
            process.join()
            mine.close()
        if left:
            left.pop(0)
            yield MutantResult("stillborn", detail="crashed or took too long")


def _serve(pipe: Connection, problem: Problem, texts: Sequence[Text], device: str) -> None:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    bench = Bench(problem, device="cpu" if texts[0].build is None else device)
    for text in texts:
        finding = bench.examine(text.text) if text.build is None else _compiled(bench, text)
        pipe.send(asdict(finding))
        if "CUDA error" in finding.detail:  # this process cannot use the device any more
            os._exit(1)


def _compiled(bench: Bench, text: Text) -> MutantResult:
    assert text.build is not None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "candidate.py"
        path.write_text(text.text)
        if (text.build / "inductor").is_dir():  # it locks files in its cache even to read it
            shutil.copytree(text.build / "inductor", Path(folder) / "inductor", symlinks=True)
            os.environ["TORCHINDUCTOR_CACHE_DIR"] = f"{folder}/inductor"
        try:
            module = backend_named(text.backend).load(path, text.build)
            return bench.examine_compiled(vars(module))
        except Exception as error:  # boundary: a changed text may do anything
            return MutantResult("stillborn", detail=f"{type(error).__name__}: {error}"[:200])

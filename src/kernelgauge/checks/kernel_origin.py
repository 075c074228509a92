"""Where a kernel that ran on a GPU comes from, by its name and by what the candidate's build has left.

A name proves little: a kernel counts as the candidate's own if that very function is in a file that its build or its
process has made, or in a text that it gave to a compiler.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from typing import Literal

from kernelgauge.profiling.kernel_names import base_name

Origin = Literal["own", "library", "unknown"]

# Namespaces of libraries, names that say the architecture, and templates with names that others could choose as well:
# those of Triton, which has none, are `gemm_kernel` too.
_LIBRARY = re.compile(
    r"(?:^|[\s<(])(?:at|at_cuda_detail|c10|torch|pytorch_flash|cub|thrust|cublas|cublasLt|cudnn|cudnn_\w+|cutlass\w*"
    r"|cask\w*|nccl|cusparse|cufft|cusolver|magma|xmma)::"
    r"|^(?:void )?(?:sm\d+_|ampere_|volta_|turing_|maxwell_|hopper_|mampere|nvjet|cutlass_|cudnn|xmma|fmha_cutlass"
    r"|ncclDevKernel|\(anonymous namespace\)::)"
    r"|\bcublas[A-Z]\w*"
    r"|^void (?:flash_fwd|gemv|gemm|[sdczh]gemm_\w*lds\d+<|splitK|dot_kernel|reduce_1Block|implicit_convolve"
    r"|explicit_convolve|conv2d_|convolve_|dgrad|wgrad|nchwTo|nhwcTo|tensorTransform|bn_fw|bn_bw|pooling_|fft"
    r"|winograd|vector_fft|regular_fft)"
)
_MANGLED = re.compile(rb"\b_Z\w{2,1000}")
_WORD = rb"(?<![A-Za-z0-9_])%s(?![A-Za-z0-9_])"
_SECONDS = 20.0


def origins(
    names: Sequence[str], made: Iterable[bytes], declared: Iterable[str], generates: bool, others: str = ""
) -> dict[str, Origin]:
    """The origin of each kernel.

    Args:
        names: full names, as the profiler tells them.
        made: contents of the files that the candidate's build and process have made.
        declared: names of kernels that its own text declares for a compiler at run time; `*` in one is what the
            compiler puts there.
        generates: whether the text has means to make kernels whose names nothing here can know.
        others: how the names of kernels begin that languages bring or make by themselves, as a pattern. No file or
            text that only spells such a name proves anything, nor does one that spells a library's.
    """
    found: dict[str, Origin] = dict.fromkeys(names, "library")
    symbols: dict[str, set[bytes]] = {name: set() for name in names}
    plain = set()
    for content in made:
        mangled = set(_MANGLED.findall(content))
        for name in names:
            base = base_name(name).encode()
            if base != name.encode():
                symbols[name] |= {each for each in mangled if b"%d%s" % (len(base), base) in each}
            elif re.search(_WORD % re.escape(base), content):
                plain.add(name)
    readable = _demangled(sorted(set().union(*symbols.values())))
    spelled = _spelled(declared)
    for name in names:
        exact = any(_bare(readable.get(symbol, "")) == _bare(name) for symbol in symbols[name])
        of_library = bool(_LIBRARY.search(name))
        brought = bool(others and re.match(others, name))
        named = bool(name in plain or symbols[name] or spelled.fullmatch(base_name(name)))
        if exact or (named and not of_library and not brought):
            found[name] = "own"
        elif name in plain or (named and brought):
            found[name] = "unknown"
        elif brought:
            found[name] = "library"
        elif (generates and not of_library) or not all(symbol in readable for symbol in symbols[name]):
            found[name] = "unknown"
    return found


def _spelled(declared: Iterable[str]) -> re.Pattern[str]:
    """Matches the names of a text's own kernels; none where it declares none."""
    forms = [r"\w+".join(map(re.escape, name.split("*"))) for name in declared]
    return re.compile("|".join(forms) or r"(?!)")


def _bare(name: str) -> str:
    """A signature without blanks and return type, which templates have in their mangled name and others lack."""
    return name.removeprefix("void ").replace(" ", "")


def _demangled(symbols: Sequence[bytes]) -> dict[bytes, str]:
    """Readable names by c++filt, in a process of its own: strangers made what it reads. Empty if that fails."""
    tool = shutil.which("c++filt")
    if tool is None or not symbols:
        return {}
    try:
        done = subprocess.run([tool], input=b"\n".join(symbols), capture_output=True, timeout=_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return {}
    return dict(zip(symbols, done.stdout.decode(errors="replace").splitlines(), strict=False))

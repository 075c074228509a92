"""Progress on standard error, so that standard output stays a result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from kernelgauge.cli.verdict import headline
from kernelgauge.execution.local import Done
from kernelgauge.schema import MODES, Evaluation, NoCandidate, TooLarge
from kernelgauge.session.contest import Watch
from kernelgauge.store.since import Since


@contextmanager
def working(what: str) -> Iterator[None]:
    """A spinner with words, on a terminal only."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    with console.status(escape(what)):
        yield


@contextmanager
def counting(what: str, total: int) -> Iterator[Callable[[str], None]]:
    """A bar that counts to `total`, on a terminal only; call what it gives with the name of each thing done."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=total)
        yield lambda name: bar.update(task, advance=1, description=f"{what}: {escape(name)}")


class RunProgress(Watch):
    """A progress bar and one line per verdict; a plain line each where there is no terminal."""

    def __init__(self) -> None:
        self._console = Console(stderr=True)
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[tally]}"),
        )
        self._bar = Progress(*columns, console=self._console, disable=not self._console.is_terminal)
        self._task = self._bar.add_task("starting", total=None, tally="")
        self._counts: Counter[str] = Counter()

    def __enter__(self) -> RunProgress:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def changed(self, found: Since) -> None:
        if found.changed:
            what = f"{found.changed} of {found.known} candidates judged before changed since"
            back = f"; {len(found.back)} as once before, so that record counts again" if found.back else ""
            self._line(f"{what}: ", f"{found.changed - len(found.back)} judged anew{back}")
        if found.gone:
            self._line(f"{found.gone} judged before are not there any more: ", "their records stay, and count")

    def begin(self, total: int) -> None:
        self._bar.update(self._task, total=total)
        if total == 0:
            self._console.print("nothing left to judge: every candidate has its record")
        elif not self._console.is_terminal:  # where there is no bar, the first verdict may be minutes away
            self._line(f"{total} to judge: ", "Ctrl-C keeps what is finished")

    def stage(self, name: str) -> None:
        self._bar.update(self._task, description=name)

    def judged(self, record: Evaluation) -> None:
        self._line(
            f"{record.problem:>6}  {record.problem_name}{self._which(record.sample)}: ", headline(record).plain
        )
        self._count(record.standing or record.outcome.value)

    def skipped(self, skip: NoCandidate) -> None:
        reason = skip.reason.strip().splitlines()[0] if skip.reason.strip() else "no reason given"
        self._line(f"{skip.problem:>6}  no candidate: ", reason)
        self._count("no candidate")

    def too_large(self, found: TooLarge) -> None:
        self._line(f"{found.problem:>6}  left out: ", found.reason)
        self._count("too large")

    def failed(self, done: Done) -> None:
        self._line(f"{done.task.problem:>6}{self._which(done.task.sample)}  not judged: ", str(done.result))
        self._count("not judged")

    def noticed(self, sentence: str) -> None:
        self._line("cluster  ", sentence)

    def _which(self, sample: int) -> str:
        return f" sample {sample}" if sample else ""

    def _line(self, start: str, rest: str) -> None:
        self._console.print(start + rest, markup=False, highlight=False, soft_wrap=True)

    def _count(self, name: str) -> None:
        self._counts[name] += 1
        tally = ", ".join(f"{count} {word}" for word, count in self._counts.most_common())
        self._bar.update(self._task, advance=1, tally=tally)


class ModesProgress(RunProgress):
    """The same for PyTorch's modes, which are named."""

    def _which(self, sample: int) -> str:
        return f" {MODES[sample]}"

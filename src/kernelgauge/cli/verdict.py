"""One evaluation on a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from kernelgauge.sandbox.isolation import LAYERS
from kernelgauge.schema import Bound, Evaluation, Finding, Timing, why_weak

_COLOURS = {"faster": "green", "tie": "yellow", "slower": "red", "unclear": "yellow", None: "green"}
_LOG_LINES = 12
_LARGEST = ("full", "pretrained")
# Seconds: shorter ones say nothing of a compiler.
_LONG_FIRST_CALL = 1.0


def headline(record: Evaluation) -> Text:
    """The verdict in one line."""
    if not record.passed:
        rule = f" ({record.rule})" if record.rule else ""
        return Text(f"{record.outcome.value}{rule}", style="bold red") + Text(f"  {record.reason}")
    if record.timing is None:
        return Text("passed", style="bold green") + Text("  not timed")
    low, high = record.timing.interval
    standing = record.standing
    line = Text(f"passed, {standing}", style=f"bold {_COLOURS[standing]}")
    told = f"{record.timing.speedup:.3g}x eager (95 % between {low:.3g} and {high:.3g}"
    if standing == "unclear":
        larger = "" if record.sizes in _LARGEST else "at larger --sizes, or "
        told += f"; too wide to tell, measure again {larger}on a quieter machine"
    return line + Text(f"  {told})")


def _timing_rows(table: Table, timing: Timing) -> None:
    table.add_row("reference", f"{timing.reference_ms:.4g} ms")
    table.add_row("candidate", f"{timing.candidate_ms:.4g} ms")
    why = {
        "precise": "interval narrow enough",
        "budget": "time or sample budget spent",
        "fixed": "fixed count",
    }
    count = len(timing.candidate_samples_ms)
    table.add_row("samples", f"{count} pairs; stopped: {why[timing.stopped]}")
    for name, fact in timing.facts.items():
        table.add_row(name, fact)


def bound_line(bound: Bound) -> str:
    """How far both sides are from what the hardware allows, in one line."""
    share, reference = 100 * bound.share, 100 / bound.headroom
    what = f"{bound.binding}, {bound.bound_ms:.4g} ms, peaks {bound.peaks}"
    return f"reaches {share:.3g} % of the bound ({what}); reference {reference:.3g} %"


def finding_line(finding: Finding) -> str:
    """A finding of a rule: place, what stands there, what was seen."""
    place = f"line {finding.line}:{finding.column}, " if finding.line else ""
    evidence = f" ({finding.evidence})" if finding.evidence else ""
    excerpt = f"\n{finding.excerpt}" if finding.excerpt else ""
    return f"{place}{finding.rule}: {finding.reason}{evidence}{excerpt}"


def show(record: Evaluation) -> None:
    """Print the verdict, the numbers behind it, and the log where something failed."""
    # Names, paths and notes come from strangers' files: square brackets in them are text, not markup.
    console = Console(markup=False)
    console.print(headline(record))
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 2))
    table.add_row("problem", f"{record.problem} {record.problem_name}, sizes {record.sizes}")
    judged = f"protocol {record.protocol}, arithmetic {record.math}, kernel policy {record.kernel_policy}"
    table.add_row("judged by", f"{judged}, backend {record.backend}, on {record.device}")
    if record.timing:
        _timing_rows(table, record.timing)
    if best := record.speedup_over_strongest:
        low, high = best.interval
        table.add_row("strongest", f"{best.speedup:.3g}x {best.mode} (95 % between {low:.3g} and {high:.3g})")
    if record.bound:
        table.add_row("bound", bound_line(record.bound))
        if record.bound.review:
            table.add_row("look at it", record.bound.review)
    if record.trials:
        worst = max(record.trials, key=lambda trial: trial.error / trial.allowed if trial.allowed else 0)
        error = f"worst {worst.error:.2g} of {worst.allowed:.2g} allowed ({worst.variant} inputs)"
        table.add_row("error", f"{len(record.trials)} trial{'s' * (len(record.trials) != 1)}; {error}")
    if record.elsewhere:
        table.add_row("elsewhere", record.elsewhere.line)
    if record.not_varied and record.not_varied.line:
        table.add_row("not varied", record.not_varied.line)
    if record.trivial_answers:
        weak = why_weak(record.trivial_answers)
        table.add_row("weak problem", weak if record.scored else f"{weak}: not counted in scores")
    for finding in record.findings:
        table.add_row(finding.severity, finding_line(finding))
    if record.first_call_s is not None and record.first_call_s >= _LONG_FIRST_CALL:
        table.add_row("first call", f"{record.first_call_s:.3g} s, with what compiles or tunes in it")
    if record.gpu_memory:
        table.add_row("GPU memory", record.gpu_memory.line)
    missing = [name for name in LAYERS if name not in record.isolation]
    if missing and record.isolation:
        table.add_row("isolation", f"without: {', '.join(missing)}")
    for note in record.notes:
        table.add_row("note", note)
    console.print(table)
    if not record.passed and record.log.strip():
        console.print(Text("\n".join(record.log.strip().splitlines()[-_LOG_LINES:]), style="dim"), soft_wrap=True)

"""A verdict as Markdown: what Inspect's viewer shows beside an answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kernelgauge.schema import Evaluation, NoCandidate, Timing, TooLarge, why_weak

_LOG_LINES = 40
_SAMPLES = 20


def explained(verdict: Evaluation | NoCandidate | TooLarge, notes: Sequence[str] = (), verbose: bool = False) -> str:
    """The verdict, the numbers behind it, the compiler's log and the samples.

    Args:
        notes: what was done to find the candidate in the answer.
        verbose: the whole log and all samples, not only the end and the first of them.
    """
    if isinstance(verdict, TooLarge):
        return f"**too large for the device**: {verdict.reason}"
    if isinstance(verdict, NoCandidate):
        return "\n".join([f"**no candidate**: {verdict.reason}", *_listed(notes)])
    parts = [headline(verdict), _table(verdict)]
    parts += ["\n".join(_listed([*notes, *verdict.notes]))]
    if verdict.log.strip():
        lines = verdict.log.strip().splitlines()
        shown = lines if verbose else lines[-_LOG_LINES:]
        parts.append("### Build log\n" + _fenced("\n".join(shown)))
    if verdict.trials:
        parts.append("### Checked calls\n" + _trials(verdict))
    if verdict.timing:
        parts.append("### Samples\n" + _samples(verdict.timing, None if verbose else _SAMPLES))
    return "\n\n".join(part for part in parts if part)


def headline(record: Evaluation) -> str:
    """The verdict in one line."""
    if not record.passed:
        rule = f" ({record.rule})" if record.rule else ""
        return f"**{record.outcome.value}{rule}**: {record.reason}"
    if record.timing is None:
        return "**passed**, not timed"
    low, high = record.timing.interval
    return (
        f"**passed, {record.standing}**: {record.timing.speedup:.3g}x eager (95 % between {low:.3g} and {high:.3g})"
    )


def _table(record: Evaluation) -> str:
    rows = {
        "problem": f"{record.problem} {record.problem_name}, sizes {record.sizes}",
        "judged by": f"protocol {record.protocol}, {record.math}, on {record.environment.gpu or record.device}",
        "written in": record.backend,
    }
    if record.timing:
        rows["reference"] = f"{record.timing.reference_ms:.4g} ms"
        rows["candidate"] = f"{record.timing.candidate_ms:.4g} ms"
    if best := record.speedup_over_strongest:
        rows[f"over {best.mode}"] = (
            f"{best.speedup:.3g}x (95 % between {best.interval[0]:.3g} and {best.interval[1]:.3g})"
        )
    if record.bound:
        rows["bound"] = (
            f"{record.bound.bound_ms:.4g} ms by {record.bound.binding}: {100 * record.bound.share:.3g} % reached"
        )
    if not record.scored:
        rows["not counted"] = f"the protocol {why_weak(record.trivial_answers)}"
    return _columns([(name, " ".join(text.split())) for name, text in rows.items()])


def _trials(record: Evaluation) -> str:
    rows: list[Sequence[str]] = [("inputs", "error", "allowed", "eager's own", "")]
    for trial in record.trials:
        agreed = "agreed" if trial.agreed else "NOT AGREED"
        rows.append(
            (trial.variant, *(f"{each:.2g}" for each in (trial.error, trial.allowed, trial.reference_error)), agreed)
        )
    return _columns(rows)


def _columns(rows: Sequence[Sequence[str]]) -> str:
    """A table as text: viewers show one of Markdown without space between its columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return _fenced("\n".join(line.rstrip() for line in lines))


def _samples(timing: Timing, most: int | None) -> str:
    sides = {"reference": timing.reference_samples_ms, "candidate": timing.candidate_samples_ms}
    lines = []
    for name, samples in sides.items():
        shown = " ".join(f"{sample:.4g}" for sample in samples[:most])
        rest = f" ... ({len(samples)} in all)" if len(samples) > len(samples[:most]) else ""
        lines.append(f"{name} (ms): {shown}{rest}")
    return _fenced("\n".join(lines))


def _listed(notes: Sequence[str]) -> Iterator[str]:
    return (f"- {note}" for note in notes)


def _fenced(text: str) -> str:
    """In a fence longer than any that the text holds."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}text\n{text}\n{fence}"

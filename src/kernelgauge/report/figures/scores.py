"""The figures of a run: fast_p, pass@k, speedups, outcomes; per level and overall."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import Any

from kernelgauge.problems.suites import BUILT_IN
from kernelgauge.report.figures.added import Added, added
from kernelgauge.report.figures.answers import Answers, Success, by_interval, by_point, counting, gather, natural
from kernelgauge.report.figures.cost import EvaluationCost, evaluation_cost
from kernelgauge.report.figures.estimators import geometric_mean, pass_at_k, wilson
from kernelgauge.report.figures.rebased import STRONGEST, rebased
from kernelgauge.report.figures.refusals import Refused, refused
from kernelgauge.report.figures.spending import Spending, spending
from kernelgauge.report.figures.suite import KnownWeak, tags_of, weakness_of
from kernelgauge.report.figures.twins import Twinned, twinned
from kernelgauge.report.table import Records
from kernelgauge.schema import (
    STANDINGS,
    AttemptRecord,
    Environment,
    Evaluation,
    Judgement,
    NoCandidate,
    Record,
    RunHeader,
    Spent,
    TooLarge,
    suite_of,
)

THRESHOLDS = {"0": 0.0, "0.5": 0.5, "0.8": 0.8, "1": 1.0, "1.5": 1.5, "2": 2.0}
"""The values of p that are reported, by the text that names them in JSON."""

KS = (1, 2, 5, 10, 20, 50, 100)
"""Candidates for k in fast_p@k; only those that every problem has samples for are reported."""


class Group(Record):
    """The figures of one level, or of all problems. Shares are None where there is no problem."""

    problems: int
    """Problems that were judged and count: the denominator of every share."""
    samples: int
    """Candidates judged for them, answers that never came included."""
    correct: int
    """Problems with at least one correct candidate."""
    fast_p: dict[str, float | None]
    """Mean over problems of the share of samples that are correct with the whole speedup interval above p."""
    fast_p_interval: dict[str, tuple[float, float]]
    """Wilson 95 % interval of `fast_p`, over problems."""
    fast_p_point: dict[str, float | None]
    """The same share by the estimate of the speedup alone, whatever its noise."""
    fast_p_at_k: dict[str, dict[str, float]]
    """By k, then by p: chance that the best of k samples succeeds."""
    geomean_speedup: float | None
    """Geometric mean over problems of the speedup of correct candidates; in a problem, over its samples. Those whose
    interval is too wide to tell are left out."""
    geomean_interval: tuple[float, float] | None
    """95 % interval of `geomean_speedup` over problems; None for fewer than two."""
    standing: dict[str, int]
    """Timed candidates that are `faster`, `tie` or `slower` against 1.0 by the whole interval, or `unclear`, if that
    is too wide to tell."""
    outcomes: dict[str, int]
    """Candidates by outcome."""
    no_candidate: int
    """Samples for which the contestant had no answer."""
    rules: dict[str, int]
    """Rejected candidates by the rule they broke."""
    refused: Refused
    review: dict[str, int]
    """Candidates that were not rejected, by the rules for which somebody should look at them."""


class Against(Record):
    """The figures over another baseline than eager, of the problems whose records hold a speedup over it."""

    baseline: str
    """A mode of PyTorch, or `strongest`: the fastest of them for each problem."""
    overall: Group
    levels: dict[str, Group]
    left_out: tuple[str, ...]
    """Problems with a correct candidate and no up-to-date baseline; they are in no denominator here."""


class LeftOut(Record):
    """A problem that does not count: an answer that skips the work would have passed."""

    problem: str
    trivial_answers: tuple[str, ...]


class Scores(Record):
    """Everything that `kernelgauge report --json` prints."""

    overall: Group
    levels: dict[str, Group]
    """By level as text; `own` for a user's own files."""
    against: Against | None
    """The same over a baseline that was measured before; None where no record holds a speedup over it."""
    tags: dict[str, Group]
    """By tag of the suite; a problem with several is in several."""
    left_out: tuple[LeftOut, ...]
    weak: tuple[KnownWeak, ...]
    """Problems of this run that are `fatal` or `weak` at the published inputs, counted or not."""
    too_large: tuple[TooLarge, ...]
    """Problems that did not fit the device's memory, whoever answers them; they are in no denominator."""
    pending: tuple[str, ...]
    """Problems that the run was asked for and has not come to yet; they are in no denominator."""
    problems: tuple[dict[str, Any], ...]
    """One flat row per evaluation that stands, those that do not count included."""
    no_candidates: tuple[NoCandidate, ...]
    spending: Spending | None
    """What the contestant was paid; None where it was no language model."""
    added: Added | None
    """What searches added to the candidates that they were given; None where they were given none."""
    twinned: Twinned | None = None
    """The same contestant on twins of these problems; None where no such run was named."""
    evaluation_cost: EvaluationCost | None
    """What the evaluation itself cost; None where no record says so."""
    warnings: tuple[str, ...]
    """What a reader of the figures must know about their origin."""
    header: RunHeader | None
    environment: Environment | None
    """That of the last evaluation; `warnings` says so if there were several."""


def score(
    evaluations: Iterable[Evaluation],
    skips: Iterable[NoCandidate] = (),
    header: RunHeader | None = None,
    warnings: Sequence[str] = (),
    baseline: str = STRONGEST,
    too_large: Iterable[TooLarge] = (),
    spent: Spent | None = None,
    tried: Sequence[Judgement] = (),
    given: Sequence[AttemptRecord] = (),
) -> Scores:
    """The scores of the evaluations that stand: the last one of each (problem, sample).

    Args:
        baseline: what `against` is measured by, a mode of PyTorch or `strongest`.
        spent: what the contestant's answers cost.
        tried: what judging its attempts took; that of answers is known.
        given: the candidates that its searches began with.
    """
    evaluations = list(evaluations)
    gathered = gather(evaluations, skips)
    standing = [evaluation for answers in gathered for evaluation in answers.evaluations]
    counted = counting(gathered)
    seen = {answers.problem for answers in gathered}
    misfits = {each.problem: each for each in too_large if each.problem not in seen}
    newest = max(standing, key=lambda evaluation: evaluation.created, default=None)
    return Scores(
        overall=_group(counted),
        levels=_by_level(counted),
        against=_against(counted, baseline),
        tags=_by_tag(counted),
        weak=_known_weak(gathered),
        left_out=tuple(
            LeftOut(problem=a.problem, trivial_answers=a.trivial_answers) for a in gathered if not a.scored
        ),
        too_large=tuple(misfits[problem] for problem in sorted(misfits, key=natural)),
        pending=tuple(p for p in (header.problems if header else ()) if p not in seen and p not in misfits),
        problems=tuple(evaluation.summary() for evaluation in standing),
        no_candidates=tuple(skip for answers in gathered for skip in answers.skips),
        spending=spending(spent, counted) if spent else None,
        added=added(_start_of(header), given, standing),
        evaluation_cost=evaluation_cost(evaluations, tried),
        warnings=(*warnings, *_differences(standing)),
        header=header,
        environment=newest.environment if newest else None,
    )


def score_run(run: Records, baseline: str = STRONGEST, twins: Records | None = None) -> Scores:
    """The scores of a run folder as it is now.

    Args:
        twins: a run of the same contestant on twins of these problems.

    Raises:
        StoreError: it cannot be read.
        UsageError: the twins are none of these problems, or were judged otherwise.
    """
    warnings = (run.torn,) if run.torn else ()
    given = [record for record in run.attempts() if record.attempt.given] if _start_of(run.header) else []
    found = score(
        run.evaluations(),
        run.skips(),
        run.header,
        warnings,
        baseline,
        run.too_large(),
        run.spent(),
        run.judgements(),
        given,
    )
    return found if twins is None else found.model_copy(update={"twinned": twinned(run, twins)})


def _start_of(header: RunHeader | None) -> str:
    return header.generation.start if header is not None and header.generation is not None else ""


def fast_p(evaluations: Iterable[Evaluation], p: float, total: int, rule: Success = by_interval) -> float | None:
    """Share of `total` problems solved faster than p; None if `total` is 0.

    The mean over problems of the share of samples that succeed. Problems that do not count are left out here,
    so `total` must not include them; one without any evaluation is not solved. Raises ValueError if `total`
    is less than the problems evaluated.
    """
    counted = counting(gather(evaluations))
    if total < len(counted):
        raise ValueError(f"{len(counted)} problems were evaluated, which is more than {total}")
    return sum(answers.share(p, rule) for answers in counted) / total if total else None


def _by_level(problems: Sequence[Answers]) -> dict[str, Group]:
    levels = sorted({answers.level for answers in problems}, key=natural)
    return {level: _group([answers for answers in problems if answers.level == level]) for level in levels}


def _against(problems: Sequence[Answers], baseline: str) -> Against | None:
    if not any(evaluation.baseline_speedups for answers in problems for evaluation in answers.evaluations):
        return None
    seen, left_out = rebased(problems, baseline)
    return Against(baseline=baseline, overall=_group(seen), levels=_by_level(seen), left_out=left_out)


def _by_tag(problems: Sequence[Answers]) -> dict[str, Group]:
    tagged: dict[str, list[Answers]] = {}
    for answers in problems:
        for tag in tags_of(answers.problem):
            tagged.setdefault(tag, []).append(answers)
    ordered = sorted(tagged, key=lambda tag: (-len(tagged[tag]), tag))
    return {tag: _group(tagged[tag]) for tag in ordered}


def _known_weak(problems: Sequence[Answers]) -> tuple[KnownWeak, ...]:
    known = ((answers, weakness_of(answers.problem)) for answers in problems)
    return tuple(
        KnownWeak(problem=answers.problem, weakness=weakness, scored=answers.scored)
        for answers, weakness in known
        if weakness is not None and weakness.severity != "minor"
    )


def _group(problems: Sequence[Answers]) -> Group:
    evaluations = [evaluation for answers in problems for evaluation in answers.evaluations]
    mean = geometric_mean([ratio for answers in problems if (ratio := _speedup(answers)) is not None])
    standing = Counter(e.standing for e in evaluations if e.standing)
    return Group(
        problems=len(problems),
        samples=sum(answers.samples for answers in problems),
        correct=sum(answers.successes(0, by_interval) > 0 for answers in problems),
        fast_p=_shares(problems, by_interval),
        fast_p_interval={
            name: wilson(sum(a.share(p, by_interval) for a in problems), len(problems))
            for name, p in THRESHOLDS.items()
        },
        fast_p_point=_shares(problems, by_point),
        fast_p_at_k=_at_k(problems),
        geomean_speedup=mean[0] if mean else None,
        geomean_interval=mean[1] if mean else None,
        standing={name: standing[name] for name in STANDINGS},
        outcomes=_counts(e.outcome.value for e in evaluations),
        no_candidate=sum(len(answers.skips) for answers in problems),
        rules=_counts(e.rule for e in evaluations if e.rule),
        refused=refused(problems),
        review=_counts(rule for e in evaluations if not e.rule for rule in {finding.rule for finding in e.findings}),
    )


def _shares(problems: Sequence[Answers], rule: Success) -> dict[str, float | None]:
    return {
        name: fmean(answers.share(p, rule) for answers in problems) if problems else None
        for name, p in THRESHOLDS.items()
    }


def _at_k(problems: Sequence[Answers]) -> dict[str, dict[str, float]]:
    fewest = min((answers.samples for answers in problems), default=0)
    return {
        str(k): {
            name: fmean(pass_at_k(a.samples, a.successes(p, by_interval), k) for a in problems)
            for name, p in THRESHOLDS.items()
        }
        for k in KS
        if k <= fewest
    }


def _speedup(answers: Answers) -> float | None:
    """One figure a problem, so that a problem with many samples weighs no more than another; none of noise."""
    told = [e for e in answers.evaluations if e.standing != "unclear"]
    mean = geometric_mean([e.speedup for e in told if e.speedup is not None])
    return mean[0] if mean else None


def _counts(names: Iterable[str]) -> dict[str, int]:
    return dict(Counter(names).most_common())


def _differences(evaluations: Sequence[Evaluation]) -> list[str]:
    """Figures are comparable only if they come from one environment and one protocol."""
    found = []
    environments = {e.environment.digest: e.environment for e in evaluations}
    if len(environments) > 1:
        differing = [
            field
            for field in Environment.model_fields
            if len({getattr(environment, field) for environment in environments.values()}) > 1
        ]
        found.append(f"the figures come from {len(environments)} environments that differ in {', '.join(differing)}")
    for field in ("protocol", "kernel_policy", "sizes", "device"):
        values = sorted({str(getattr(e, field)) for e in evaluations})
        if len(values) > 1:
            found.append(f"the figures mix {field}: {', '.join(values)}")
    suites = sorted({suite_of(e.problem) or BUILT_IN for e in evaluations if e.level is not None})
    if len(suites) > 1:
        found.append(f"the figures of a level mix the suites {', '.join(suites)}")
    return found

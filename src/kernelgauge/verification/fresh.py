"""Fresh problems: drawn from a recipe, kept only if they run, agree with themselves, say something and are new.

What is kept depends on the seed alone: the seeds of the trials that decide are public ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from kernelgauge.config import Protocol, load_protocol
from kernelgauge.errors import ProblemError, UsageError
from kernelgauge.problems import suites
from kernelgauge.problems.catalogue import DEFAULT_LEVELS, entry, keys
from kernelgauge.problems.distance import nearest
from kernelgauge.problems.loader import load_problem
from kernelgauge.problems.recipes import fusion, twin, variants
from kernelgauge.problems.recipes.drawn import Drawn
from kernelgauge.problems.sizes import with_constants
from kernelgauge.problems.splits import split_of
from kernelgauge.problems.writing import Row, write_suite
from kernelgauge.schema import Problem, Sizes, Split, why_weak
from kernelgauge.session.session import Session
from kernelgauge.verification.facts import misbehaviour
from kernelgauge.verification.verify import REDUCED

DISTANCE = 0.1
"""How far from every problem of the built-in suite a problem to train on must be."""

_DRAWS_PER_PROBLEM = 20
_SAME = 1e-6

LARGEST = 17.4e9
"""Bytes of inputs and outputs at full size: what the largest problem of the suite has."""

Draw = Callable[[int], Drawn]
"""The problem a recipe draws at that number."""


def recipe(session: Session, words: str, seed: int) -> Draw:
    """What `--recipe` names: `fusion`, `variants`, `twin 2/76`, `twin 1/19,2/76`, `twin level 1`, `twin all`.

    Raises:
        UsageError: there is no such recipe.
        ProblemError: the problem to twin is unknown, has one size only, or cannot be rewritten.
    """
    name, _, rest = words.strip().partition(" ")
    if name == "fusion" and not rest:
        return partial(fusion.draw, seed)
    if name == "variants" and not rest:
        return partial(variants.draw, seed)
    if name == "twin" and rest:
        names = _originals(rest.strip())
        if not names:
            raise UsageError(f"the recipe {words!r} names no problem")
        return _twins(session, names[0], seed) if len(names) == 1 else _twins_of_each(session, names, seed)
    raise UsageError(
        f"there is no recipe {words!r}: say fusion, variants, or 'twin 2/76' for a twin of a problem ('twin level 1' "
        "for twins of all of a level)"
    )


def purpose(words: str) -> suites.Purpose:
    """What a recipe's problems are for: twins are near the built-in suite by design."""
    return "evaluation" if words.split()[:1] == ["twin"] else "training"


def generate(
    session: Session,
    draw: Draw,
    count: int,
    distance: float = 0.0,
    too_near: Callable[[str], None] = lambda why: None,
) -> Iterator[Drawn]:
    """`count` sound problems with names of their own, each with its nearest problem of the built-in suite.

    Args:
        distance: a problem must be at least so far from that one; see `problems.distance`.
        too_near: told of each one that is not, in a sentence.

    Raises:
        ProblemError: the recipe gives no more sound problems.
    """
    names: set[str] = set()
    seen: set[str] = set()
    refused: list[str] = []
    for number in range(count * _DRAWS_PER_PROBLEM):
        try:
            drawn = draw(number)
        except ProblemError as error:
            refused.append(str(error))
            continue
        if drawn.name in names or drawn.source in seen:
            refused.append(f"{drawn.name}: drawn before")
            continue
        seen.add(drawn.source)
        found = nearest(drawn.source)
        if found.distance < distance:
            refused.append(f"{drawn.name}: {found.distance:.2g} from {found.label}, nearer than {distance:.2g}")
            too_near(refused[-1])
            continue
        if why := unsound(session, drawn):
            refused.append(why)
            continue
        names.add(drawn.name)
        yield replace(drawn, nearest=found)
        if len(names) == count:
            return
    reasons = "; ".join(refused[-3:])
    raise ProblemError(f"only {len(names)} of {count} problems came out sound; the last ones refused: {reasons}")


@dataclass(frozen=True)
class Origin:
    """How a suite of fresh problems came about."""

    words: str
    """Its recipe, as `recipe` takes it."""
    seed: int
    distance: float
    """The limit that its problems have kept."""
    validation: float = 0.1
    split_seed: int = 0
    """As `problems.splits` takes them; a suite that is for evaluation is not split."""

    def split(self, drawn: Drawn) -> Split | None:
        """The part of the suite that a problem belongs to."""
        if purpose(self.words) == "evaluation":
            return None
        return split_of(drawn.source, self.validation, self.split_seed)


def install(kept: Sequence[Drawn], made: Origin, suite: str, overwrite: bool) -> Path:
    """Make fresh problems the suite of that name, numbered by level in their order; returns its folder.

    Raises:
        ProblemError: the name cannot be used or is taken.
        StoreError: the disk refuses.
    """
    levels: dict[int, list[Row]] = {}
    for drawn in kept:
        rows = levels.setdefault(drawn.level, [])
        facts = {"number": len(rows) + 1, "name": drawn.name, "tags": drawn.tags, "domains": drawn.domains}
        near = {
            "nearest": drawn.nearest and drawn.nearest.model_dump(mode="json"),
            "split": made.split(drawn),
            "twin_of": drawn.twin_of,
            "parameters": drawn.parameters.model_dump(mode="json"),
        }
        rows.append(({**facts, "sizes": drawn.sizes, "weakness": None, **near}, drawn.source))
    origin = f"recipe {made.words}, seed {made.seed}, distance {made.distance:.2g}"
    about = suites.About(
        name=suite,
        origin=f"{origin}, kernelgauge {version('kernelgauge')}",
        created=datetime.now(UTC).date(),
        purpose=purpose(made.words),
    )
    with suites.installing(suite, overwrite) as folder:
        write_suite(folder, about, levels)
    return suites.suites_folder() / suite


def unsound(session: Session, drawn: Drawn) -> str | None:
    """Why a drawn problem is not worth keeping; None if it is."""
    try:
        described = session.describe(_at(drawn, "full"))
        moved = described["bytes"]["inputs"] + (described["bytes"]["output"] or 0)
        if moved > LARGEST:
            return f"{drawn.name}: inputs and outputs of {moved / 1e9:.1f} GB"
        if "medium" in drawn.sizes:
            session.describe(_at(drawn, "medium"))
        reduced: list[Sizes] = [size for size in REDUCED if size in drawn.sizes] or ["full"]
        for size in reduced:
            found = session.try_out(_at(drawn, size))
            idle = () if drawn.twin_of else _left_alone(found)  # a twin has what its original has
            for complaint in (*idle, *misbehaviour(found, may_draw="random" in drawn.tags)):
                return f"{drawn.name}, {size}: {complaint}"
        for name in ("strict", "v0.1"):
            screened = session.screen(_at(drawn, reduced[0]), _public(name), list(described["bytes"]["parameters"]))
            if screened.trivial_answers:
                return f"{drawn.name}: {name} {why_weak(screened.trivial_answers)}"
            ignored = [each for each in screened.shortcuts if each.removeprefix("without ") not in screened.idle]
            if name == "strict" and ignored:
                return f"{drawn.name}: {name} would accept {', '.join(ignored)}"
    except ProblemError as error:
        return str(error)
    return None


def _left_alone(found: Mapping[str, Any]) -> Iterator[str]:
    """What of a problem's parameters means nothing."""
    if found["uninitialised"]:
        yield f"{', '.join(found['uninitialised'][:3])}: never initialised"
    if found["unreached"]:
        yield f"{', '.join(found['unreached'][:3])}: no output depends on it"


def _public(protocol: str) -> Protocol:
    """The protocol with published seeds, so that the same draw is kept or refused everywhere."""
    found = load_protocol(protocol)
    return found.model_copy(
        update={
            "inputs": found.inputs.model_copy(update={"seeds": "public"}),
            "parameters": found.parameters.model_copy(update={"seed": "public"}),
        }
    )


def _at(drawn: Drawn, size: Sizes) -> Problem:
    source = with_constants(drawn.source, drawn.sizes.get(size, {}))
    found = Problem(
        key=drawn.name, name=drawn.name, sizes=size, source=source, domains=drawn.domains, tags=drawn.tags
    )
    return found.model_copy(update={"parameters": drawn.parameters})


def _twins(session: Session, name: str, seed: int) -> Draw:
    original = load_problem(name)
    sizes = entry(name).sizes
    if "small" not in sizes:
        raise ProblemError(f"problem {original.key} has one size only: a twin needs constants that may change")
    if "pretrained" in sizes:
        raise ProblemError(
            f"problem {original.key} is a model of transformers: what it computes is not in its own text"
        )
    text = _rewriting(session, original, load_problem(name, sizes="small"))

    def draw(attempt: int) -> Drawn:
        drawn = twin.draw(original, text, sizes, seed, attempt)
        return replace(drawn, name=f"{drawn.name}_{attempt}")

    return draw


def _originals(text: str) -> list[str]:
    """Keys of the problems to twin: of a level, `all` but level 4, or those named. Raises ProblemError."""
    if text == "all":
        return keys(DEFAULT_LEVELS)
    if (level := text.removeprefix("level").strip()).isdecimal() and text.startswith("level") and "/" not in text:
        return keys([int(level)])
    return [entry(name.strip()).key for name in text.split(",") if name.strip()]


def _twins_of_each(session: Session, names: Sequence[str], seed: int) -> Draw:
    """Twins of several problems in turn. One that cannot be rewritten raises each time, and costs that once."""
    made: dict[str, Draw | ProblemError] = {}

    def draw(number: int) -> Drawn:
        name = names[number % len(names)]
        if name not in made:
            try:
                made[name] = _twins(session, name, seed)
            except ProblemError as error:
                made[name] = error
        found = made[name]
        if isinstance(found, ProblemError):
            raise found
        return found(number // len(names))

    return draw


def _rewriting(session: Session, original: Problem, small: Problem) -> str:
    """The boldest rewriting that draws the same parameters and computes the same output as the original."""
    due = session.try_out(small)["fingerprints"]
    for how in twin.REWRITINGS:
        try:
            text = twin.rewritten(original.source, how)
            if text == original.source:
                continue
            reduced = with_constants(text, entry(original.key).sizes["small"])
            found = session.try_out(small.model_copy(update={"source": reduced}))
        except ProblemError:
            continue
        if all(_same(found["fingerprints"][what], due[what]) for what in due):
            return text
    raise ProblemError(f"problem {original.key} could not be rewritten so that it computes the same")


def _same(found: list[float], due: list[float]) -> bool:
    return all(abs(a - b) <= _SAME * max(1.0, abs(b)) for a, b in zip(found, due, strict=True))

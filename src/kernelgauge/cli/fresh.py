"""`kernelgauge problems generate`: problems nobody has seen before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from kernelgauge.cli.options import AsJson
from kernelgauge.cli.printed import print_object

if TYPE_CHECKING:
    from kernelgauge.problems.recipes.drawn import Drawn
    from kernelgauge.verification import fresh


def generate(
    recipe: Annotated[
        str,
        typer.Option("--recipe", help="fusion, variants, 'twin 2/76', 'twin 1/19,2/76', 'twin level 1', 'twin all'."),
    ],
    suite: Annotated[str, typer.Option("--suite", help="The name of the suite they become.")],
    count: Annotated[int, typer.Option("--count", min=1, max=10_000)] = 20,
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same problems.")] = 0,
    distance: Annotated[
        float | None,
        typer.Option(
            "--distance",
            min=0.0,
            max=1.0,
            help="At least so far from each built-in problem; default: 0.1, for twins 0.",
        ),
    ] = None,
    validation: Annotated[
        float, typer.Option("--validation", min=0.0, max=1.0, help="Share that is kept to validate.")
    ] = 0.1,
    split_seed: Annotated[int, typer.Option("--split-seed", help="Another one splits otherwise.")] = 0,
    replace: Annotated[bool, typer.Option("--replace", help="Overwrite a suite of that name.")] = False,
    as_json: AsJson = False,
) -> None:
    """Draw fresh problems from a recipe and keep those that are sound, as a suite.

    Kept is what fits at every size, repeats itself, accepts no answer that skips the work under either protocol, and
    is far enough from the built-in suite. Each is to train on or to validate; twins are for evaluation alone.
    Ctrl-C keeps those drawn so far.
    """
    from kernelgauge.cli.progress import counting
    from kernelgauge.errors import ProblemError
    from kernelgauge.problems.suites import check_writable
    from kernelgauge.session.session import Session
    from kernelgauge.verification import fresh

    check_writable(suite, replace)
    if distance is None:
        distance = fresh.DISTANCE if fresh.purpose(recipe) == "training" else 0.0
    made = fresh.Origin(recipe, seed, distance, validation, split_seed)
    kept: list[Drawn] = []
    near: list[str] = []

    def too_near(why: str) -> None:
        near.append(why)
        typer.echo(f"kernelgauge: refused: {why}", err=True)

    with Session(threads=1) as session, counting("drawing and verifying", count) as seen:
        draw = fresh.recipe(session, recipe, seed)
        try:
            for drawn in fresh.generate(session, draw, count, distance, too_near):
                kept.append(drawn)
                seen(drawn.name)
        except (ProblemError, KeyboardInterrupt):
            if kept:
                fresh.install(kept, made, suite, replace)
                typer.echo(f"kernelgauge: suite {suite} has only {len(kept)} of {count} problems", err=True)
            raise
    folder = fresh.install(kept, made, suite, replace)
    if as_json:
        names = [drawn.name for drawn in kept]
        print_object(
            {
                "suite": suite,
                "folder": str(folder),
                "problems": names,
                "purpose": fresh.purpose(recipe),
                "too_near": near,
            }
        )
    else:
        typer.echo(f"suite {suite}: {len(kept)} problems in {folder}; {_for(made, kept)}")


def _for(made: fresh.Origin, kept: list[Drawn]) -> str:
    """What a suite is good for, as the rest of a sentence."""
    splits = [made.split(drawn) for drawn in kept]
    if None in splits:
        return "for evaluation and not for training: twins are near the built-in suite by design"
    return f"{splits.count('train')} to train on, {splits.count('validation')} to validate"

"""`kernelgauge problems generate`: problems nobody has seen before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from kernelgauge.cli.options import AsJson
from kernelgauge.cli.printed import print_object

if TYPE_CHECKING:
    from kernelgauge.problems.recipes.drawn import Drawn


def generate(
    recipe: Annotated[str, typer.Option("--recipe", help="fusion, variants, or 'twin 1/23'.")],
    suite: Annotated[str, typer.Option("--suite", help="The name of the suite they become.")],
    count: Annotated[int, typer.Option("--count", min=1, max=10_000)] = 20,
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same problems.")] = 0,
    replace: Annotated[bool, typer.Option("--replace", help="Overwrite a suite of that name.")] = False,
    as_json: AsJson = False,
) -> None:
    """Draw fresh problems from a recipe and keep those that are sound, as a suite.

    Kept is what fits at every size, repeats itself, and accepts no answer that skips the work under either protocol.
    Ctrl-C keeps those drawn so far.
    """
    from kernelgauge.cli.progress import counting
    from kernelgauge.errors import ProblemError
    from kernelgauge.problems.suites import check_writable
    from kernelgauge.session.session import Session
    from kernelgauge.verification import fresh

    check_writable(suite, replace)
    kept: list[Drawn] = []
    with Session(threads=1) as session, counting("drawing and verifying", count) as seen:
        draw = fresh.recipe(session, recipe, seed)
        try:
            for drawn in fresh.generate(session, draw, count):
                kept.append(drawn)
                seen(drawn.name)
        except (ProblemError, KeyboardInterrupt):
            if kept:
                fresh.install(kept, recipe, seed, suite, replace)
                typer.echo(f"kernelgauge: suite {suite} has only {len(kept)} of {count} problems", err=True)
            raise
    folder = fresh.install(kept, recipe, seed, suite, replace)
    if as_json:
        print_object({"suite": suite, "folder": str(folder), "problems": [drawn.name for drawn in kept]})
    else:
        typer.echo(f"suite {suite}: {len(kept)} problems in {folder}")

"""`kernelgauge submit`: what does a server say of this candidate?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kernelgauge.cli.options import AsJson, BackendName
from kernelgauge.cli.printed import print_object
from kernelgauge.errors import UsageError

TOKEN = "KERNELGAUGE_TOKEN"


def submit(
    problem: Annotated[str, typer.Argument(help="A problem such as 1/23.")],
    file: Annotated[Path, typer.Argument(help="The candidate: a file that defines ModelNew; - reads stdin.")],
    server: Annotated[str, typer.Option("--server", envvar="KERNELGAUGE_SERVER", help="URL of the server.")],
    token: Annotated[str, typer.Option("--token", envvar=TOKEN, help="Of your account there.")] = "",
    backend: BackendName = None,
    wait: Annotated[bool, typer.Option(help="Wait for the verdict.")] = True,
    as_json: AsJson = False,
) -> None:
    """Hand in a candidate to a server. Exit code: 0 passed (or handed in), 1 not passed, 2 refused, 3 no verdict."""
    from kernelgauge.cli.evaluate import standard_input
    from kernelgauge.cli.progress import working
    from kernelgauge.generation.folder import read_source
    from kernelgauge.serve.client import Client

    if not token:
        raise UsageError(f"a token is needed: set {TOKEN}")
    source = standard_input() if str(file) == "-" else read_source(file)
    client = Client(server, token)
    number = client.hand_in(problem, source, backend or "")
    if not wait:
        if as_json:
            print_object(client.verdict(number))
        else:
            typer.echo(client.page(number))
        return
    with working(f"submission {number} waits for its verdict"):
        found = client.waited(number)
    verdict = found["verdict"]
    if as_json:
        print_object(found)
    else:
        typer.echo(f"{_said(found)}\n{client.page(number)} by {found['account']}")
    if verdict is None:
        raise typer.Exit(3)
    raise typer.Exit(0 if verdict["outcome"] == "passed" else 1)


def _said(found: dict[str, object]) -> str:
    verdict = found["verdict"]
    if not isinstance(verdict, dict):
        return f"it could not be judged: {found['reason']}"
    if verdict["speedup"] is None:
        return f"{verdict['outcome']}  {verdict['reason']}".rstrip()
    low, high = verdict["speedup_interval"]
    return f"passed, {verdict['standing']}  {verdict['speedup']:.3g}x eager (95 % between {low:.3g} and {high:.3g})"

"""The command `kernelgauge`: one verb per question a person has."""

from __future__ import annotations

import sys
import traceback
from typing import Annotated, Any

import typer

from kernelgauge import __version__
from kernelgauge.cli import (
    account,
    ask,
    baseline,
    build,
    compare,
    doctor,
    evaluate,
    export,
    forecast,
    judge,
    leaderboard,
    optimize,
    package,
    pairs,
    problems,
    profiling,
    prompt,
    reeval,
    replay_check,
    report,
    run,
    selftest,
    serve,
    submit,
)
from kernelgauge.errors import KernelgaugeError

_INTERRUPTED = 130
# Base of all errors in flags and arguments. Newer typer ships its own click, and names this class nowhere else.
_WrongUse: type[Any] = typer.BadParameter.__mro__[2]
_ONLY_HELP = "NoArgsIsHelpError"

app = typer.Typer(
    help="Is a machine-written kernel right, and how much faster is it?",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"kernelgauge {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True)] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Is a machine-written kernel right, and how much faster is it?"""


app.command("eval")(evaluate.evaluate)
app.command("profile")(profiling.profile)
app.command("run")(run.run)
app.command("ask")(ask.ask)
app.command("reeval")(reeval.reeval)
app.command("replay-check")(replay_check.replay_check)
app.command("report")(report.report)
app.command("compare")(compare.compare)
app.command("export")(export.export)
app.command("package")(package.package)
app.command("optimize")(optimize.optimize)
app.command("leaderboard")(leaderboard.leaderboard)
app.command("serve")(serve.serve)
app.command("judge")(judge.judge)
app.command("submit")(submit.submit)
app.command("doctor")(doctor.doctor)
app.command("selftest")(selftest.selftest)
app.command("build")(build.build)
app.command("guide")(build.guide)
app.command("prompt")(prompt.prompt)
app.add_typer(account.app, name="account")
app.add_typer(baseline.app, name="baseline")
app.add_typer(forecast.app, name="forecast")
app.add_typer(problems.app, name="problems")
app.add_typer(pairs.app, name="pairs")


def main() -> None:
    """Entry point: every expected error is one sentence and an exit code, never a traceback."""
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    try:
        code = app(arguments, standalone_mode=False)
        if code == _INTERRUPTED:  # typer's own answer to ctrl-C
            _say("interrupted")
    except KernelgaugeError as error:
        code = error.exit_code
        _say(str(error))
    except _WrongUse as error:
        code = error.exit_code
        if type(error).__name__ == _ONLY_HELP:  # a group without a verb: its help is the answer
            error.show()
        else:
            _say(_sentence(error))
    except (KeyboardInterrupt, typer.Abort):
        code = _INTERRUPTED
        _say("interrupted")
    except BrokenPipeError:
        code = 0
        sys.stdout = None  # type: ignore[assignment]  # the reader of our output has gone; nothing left to flush
    except OSError as error:
        code = KernelgaugeError.exit_code
        _say(f"this machine refused: {error}")
        _give_up_output()
    except Exception:
        # A fault of ours, so the traceback stays; Python's own exit code 1 would read as the verdict "not passed".
        code = KernelgaugeError.exit_code
        traceback.print_exc()
    sys.exit(code if isinstance(code, int) else 0)


def _sentence(error: Any) -> str:
    """A wrong flag or argument in one sentence, with the command that lists the right ones."""
    message = error.format_message().rstrip(".")
    hint = f" (`{error.ctx.command_path} --help` lists what there is)" if getattr(error, "ctx", None) else ""
    return f"{message[:1].lower()}{message[1:]}{hint}"


def _give_up_output() -> None:
    """Drop what standard output would not take, so that the interpreter does not fail on it again at its end."""
    try:
        sys.stdout.flush()
    except OSError:
        sys.stdout = None  # type: ignore[assignment]


def _say(message: str) -> None:
    if "--debug" in sys.argv:
        traceback.print_exc()
    line = " ".join(part.strip() for part in message.splitlines())
    typer.echo(f"kernelgauge: {line}", err=True)

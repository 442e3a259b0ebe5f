"""The command line: every command is a function in one of these modules, with little logic of its own.

What a command needs is imported when it runs, so that `kibitz --help` is fast.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Annotated

import typer

from kibitz import __version__, ending, showing
from kibitz.cli import experiment, files, measure, play, reproduce, solve, system
from kibitz.errors import BadOption, KibitzError, quoted

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Play, search and measure card games. Games and agents are written as strings such as "
    "'briskola:seats=4' and 'ismcts:5000,c=0.7'; `kibitz games` and `kibitz agents` list them.",
)

COMMANDS: dict[str, Callable[..., None]] = {  # in the order in which `kibitz --help` lists them
    "games": system.games,
    "agents": system.agents,
    "play": play.play,
    "serve": play.serve,
    "match": measure.match,
    "advise": solve.advise,
    "solve": solve.solve,
    "tree": solve.tree,
    "convert": files.convert,
    "reproduce": reproduce.reproduce,
    "tournament": experiment.tournament,
    "report": experiment.report_store,
    "export": files.export,
    "replay": files.replay,
    "learn": measure.learn,
    "bench": measure.bench,
    "info": system.info,
    "check": system.check,
    "cache": system.cache,
}
for _name, _command in COMMANDS.items():
    app.command(_name)(_command)

laboratory = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Run your own experiments.")
laboratory.command("run")(experiment.run_experiment)
app.add_typer(laboratory, name="experiment")


def _version(wanted: bool) -> None:
    if wanted:
        print(f"kibitz {__version__}")
        raise typer.Exit


@app.callback()
def _kibitz(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run a command; errors of ours become a message and an exit code, never a traceback."""
    ending.end_when_asked()
    with showing.everything_visible():
        _run_a_command()


def _run_a_command() -> None:
    try:
        try:
            _must_be_text(sys.argv[1:])
            app(standalone_mode=True)
        finally:
            sys.stdout.flush()
    except KibitzError as error:
        from kibitz import terminal

        terminal.fail(error, "--json" in sys.argv)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        print("kibitz: interrupted", file=sys.stderr)
        sys.exit(130)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):  # a closed pipe ends quietly
            what = "the answer cannot be written" if error.filename is None else quoted(str(error.filename))
            print(f"kibitz: {what}: {error.strerror or error}", file=sys.stderr)
            sys.exit(3)


def _must_be_text(words: list[str]) -> None:
    """Refuse bytes that are not UTF-8 before they reach a store or output, where they cannot be written."""
    for word in words:
        try:
            word.encode()
        except UnicodeEncodeError:
            raise BadOption(
                f"{quoted(word)} has bytes that are not UTF-8; rename the file, or type it again"
            ) from None

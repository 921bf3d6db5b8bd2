"""The commands, and how each of them ends.

Heavy packages are imported inside the functions that need them: ``dse --help`` answers at once.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from functools import cache
from typing import Annotated, Any

import typer
import typer.core
import typer.main

from dse.commands.ask import ask
from dse.commands.calibrate.group import calibrate
from dse.commands.catalog import catalog
from dse.commands.check import check
from dse.commands.compare import compare
from dse.commands.explain import explain
from dse.commands.export import export
from dse.commands.fleet import fleet
from dse.commands.init import init
from dse.commands.report import report
from dse.commands.run import run
from dse.commands.schema import schema
from dse.commands.serve import serve
from dse.commands.watch import watch
from dse.commands.workload import workload
from dse.errors import DseError, StudyError, one_line
from dse.version import __version__

EXIT_INTERRUPTED = 130  # as shells say it


class Interrupted(Exception):
    """Ctrl-C, with what was said of it."""


class Commands(typer.core.TyperGroup):
    """Passes Ctrl-C on as it is; typer would make another exception of it."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as cause:
            raise Interrupted(str(cause)) from None


app = typer.Typer(
    name="dse",
    cls=Commands,
    help="Which training cluster, and which way of training on it, buys the most speed for the "
    "money.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for command in (init, ask, run, check, explain, serve, fleet, compare, watch, report, export,
                catalog, schema):  # fmt: skip
    app.command()(command)
app.add_typer(calibrate, name="calibrate")
app.add_typer(workload, name="workload")


def _version(wanted: bool) -> None:
    if wanted:
        print(f"dse {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Common options."""


# What the command line itself is misused with; typer passes it on without exporting its name.
_UsageError: Any = typer.BadParameter.__base__


def run_command() -> int | None:
    """Run what the command line asks for and return the exit status.

    Every known error is one line on stderr. Raises KeyboardInterrupt for Ctrl-C.
    """
    try:
        status: int | None = _command()(prog_name="dse", standalone_mode=False)
        if status == EXIT_INTERRUPTED:  # typer's way to say it, where no command had begun
            raise KeyboardInterrupt
        sys.stdout.flush()
    except (Interrupted, typer.Abort) as cause:
        raise KeyboardInterrupt(*cause.args) from None
    except DseError as error:
        status = _fail(_told(error), error)
    except _UsageError as error:
        status = _misused(error)
    except OSError as error:
        status = _fail(f"dse: output cannot be written: {error.strerror}")
        # Spare the interpreter a second failure when it flushes what is left on its way out.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return status


@cache
def _command() -> Any:
    """All commands with their options: typer takes a tenth of a second to make them of ours, so a
    process that runs several commands keeps them."""
    return typer.main.get_command(app)


def _told(error: DseError) -> str:
    """A line for each mistake; dse is named in those that name no place of a file."""
    said = error.on_command_line()
    if not isinstance(error, StudyError):
        return f"dse: {said}"
    lines, placed = said.splitlines(), [one.line > 0 for one in error.mistakes]
    return "\n".join(
        line if is_placed else f"dse: {line}"
        for line, is_placed in zip(lines, placed, strict=False)
    )


def _as_json(error: DseError) -> str:
    """The mistakes as a program reads them."""
    if not isinstance(error, StudyError):
        return json.dumps({"errors": [{"problem": error.on_command_line()}]})
    parts = ("file", "line", "column", "problem", "remedy")
    mistakes = [{part: getattr(one, part) for part in parts} for one in error.mistakes]
    return json.dumps({"errors": mistakes})


def _fail(line: str, error: DseError | None = None) -> int:
    with suppress(OSError):  # a full disk takes no complaint either
        print(line if isinstance(error, StudyError) else one_line(line), file=sys.stderr)
    if "--json" in sys.argv:
        with suppress(OSError):
            print(_as_json(error or DseError(line.removeprefix("dse: "))))
    return (error or DseError).exit_status


def _misused(error: Any) -> int:
    """One line for a wrong command, option or argument; the help where nothing was asked."""
    if error.ctx is not None and error.format_message() == error.ctx.get_help():
        error.show()
        return int(error.exit_code)
    said = " ".join(error.format_message().split()).rstrip(".")
    command = error.ctx.command_path if error.ctx is not None else "dse"
    if said.startswith("Missing argument"):
        _, *arguments = error.ctx.command.collect_usage_pieces(error.ctx)  # the first is [OPTIONS]
        names = [name.strip("{}").upper() for name in arguments]
        said += f": write {' '.join([command, *names])}"
    return _fail(f"dse: {said[:1].lower()}{said[1:]}; see {command} --help")

"""The commands. Heavy packages are imported inside the functions that need them."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.core

from dse.cli_calibrate import calibrate
from dse.errors import DseError
from dse.terminal import console, print_json
from dse.version import __version__

EXIT_INTERRUPTED = 130  # as shells say it
COLLECT_EVERY = 50_000  # allocations


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
    help="Which training cluster, and which way of training on it, buys most speed for the money.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.add_typer(calibrate, name="calibrate")

Studies = Annotated[
    list[str],
    typer.Argument(
        metavar="STUDY...",
        help="Study files, folders of them, or names of some that ship.",
        show_default=False,
    ),
]
StudyPath = Annotated[str, typer.Argument(help="A study file, or the name of one that ships.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def _whole(least: int, most: int) -> Callable[[str], int]:
    """Reads a whole number within limits, also as 2e4, as study files do."""

    def read(text: str) -> int:
        try:
            found = int(text) if "e" not in text.lower() else float(text)
        except ValueError:
            found = float("nan")
        if not least <= found <= most or found != int(found):
            raise typer.BadParameter(f"'{text}' is not a whole number from {least:,} to {most:,}")
        return int(found)

    return read


# What the command line itself is misused with; typer passes it on without exporting its name.
_UsageError: Any = typer.BadParameter.__base__


def run_command() -> int | None:
    """Run what the command line asks for and return the exit status.

    Every known error is one line on stderr. Raises KeyboardInterrupt for Ctrl-C.
    """
    # Imports and catalogue make many objects and drop few: collecting less often saves a tenth of
    # a second of a short command.
    gc.set_threshold(COLLECT_EVERY)
    try:
        status: int | None = app(prog_name="dse", standalone_mode=False)
        if status == EXIT_INTERRUPTED:  # typer's way to say it, where no command had begun
            raise KeyboardInterrupt
        sys.stdout.flush()
    except (Interrupted, typer.Abort) as cause:
        raise KeyboardInterrupt(*cause.args) from None
    except DseError as error:
        status = _fail(str(error) if getattr(error, "line", 0) else f"dse: {error}", error)
    except _UsageError as error:
        status = _misused(error)
    except OSError as error:
        status = _fail(f"dse: output cannot be written: {error.strerror}")
        _silence_stdout()
    return status


def _fail(line: str, error: DseError | None = None) -> int:
    print(line, file=sys.stderr)
    return (error or DseError).exit_status


def _misused(error: Any) -> int:
    """One line for a wrong command, option or argument; the help where nothing was asked."""
    if error.ctx is not None and error.format_message() == error.ctx.get_help():
        error.show()
        return int(error.exit_code)
    said = " ".join(error.format_message().split()).rstrip(".")
    command = error.ctx.command_path if error.ctx is not None else "dse"
    return _fail(f"dse: {said[:1].lower()}{said[1:]}; see {command} --help")


def _silence_stdout() -> None:
    """Spare the interpreter a second failure when it flushes what is left on its way out."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


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


@app.command()
def run(
    study: Studies,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the report [default: reports/STUDY]; of several, of their folders."
        ),
    ] = None,
    engine: Annotated[str | None, typer.Option(help="auto, exhaustive or guided.")] = None,
    executor: Annotated[str | None, typer.Option(help="auto, local or ray.")] = None,
    address: Annotated[str | None, typer.Option(help="Ray cluster to join.")] = None,
    budget: Annotated[
        int | None,
        typer.Option(
            parser=_whole(1, 10**9), metavar="INTEGER", help="Points the guided engine may price."
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(parser=_whole(0, 2**63 - 1), metavar="INTEGER", help="Of everything random."),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where a run stopped.")] = False,
    within: Annotated[
        str | None, typer.Option(help="List points so little behind the front, too: 5%.")
    ] = None,
    sampler: Annotated[
        str | None, typer.Option(help="Of a guided search: auto, nsga2, nsga3, tpe, gp or random.")
    ] = None,
    warm_start: Annotated[
        Path | None,
        typer.Option(help="Folder of an earlier run whose front a guided search begins with."),
    ] = None,
    json: Json = False,
) -> int:
    """Search studies and write their reports."""
    from dse.options import Options, share
    from dse.session import run_study

    options = Options(
        out, engine, executor, address, budget, seed, resume, share(within), sampler, warm_start
    )
    if len(study) == 1 and not Path(study[0]).is_dir():
        run_study(study[0], options, command=_command(), quiet=json, show_json=json)
        return 0
    from dse.batch import run_studies, study_files

    return run_studies(study_files(study), options, _command(), quiet=json, show_json=json)


@app.command()
def check(study: StudyPath, json: Json = False) -> None:
    """Check a study: schema, units, names, size of the space, estimated time. Runs nothing."""
    from dse.session_check import check_study

    check_study(study, json)


@app.command()
def explain(
    study: StudyPath,
    assign: Annotated[
        list[str] | None, typer.Option("--set", help="axis=value; the rest is the baseline's.")
    ] = None,
    json: Json = False,
) -> None:
    """Price one point: every term, memory, money, and whether it was measured."""
    from dse.session_check import explain_point

    explain_point(study, assign or [], json)


@app.command()
def fleet(
    study: Annotated[str, typer.Argument(help="A fleet study, or the name of one that ships.")],
    out: Annotated[
        Path | None, typer.Option(help="Folder of the report [default: reports/FLEET].")
    ] = None,
    facts: Annotated[
        bool, typer.Option("--facts", help="Beside it, what the Alibaba-PAI paper published.")
    ] = False,
    json: Json = False,
) -> None:
    """A fleet of jobs: where its time goes, what upgrades and other architectures gain."""
    from dse.session_fleet import run_fleet

    run_fleet(study, out, facts, json, _command())


@app.command()
def report(folder: Annotated[Path, typer.Argument(help="Folder of a finished run.")]) -> None:
    """Rebuild the report of a finished run, or of a fleet, from its run.json or fleet.json."""
    from dse.session_fleet import rebuilt

    print(f"wrote {rebuilt(folder)}")


@app.command()
def export(
    folder: Annotated[Path, typer.Argument(help="Folder of a finished run.")],
    storage: Annotated[
        str, typer.Argument(help="sqlite:///FILE.db, or postgresql://USER@HOST/DATABASE.")
    ],
    front: Annotated[
        bool, typer.Option("--front", help="Only the front, not every point that was priced.")
    ] = False,
) -> None:
    """Write a finished run into an Optuna storage, for optuna-dashboard."""
    from dse.session_guided import export_run

    print(export_run(folder, storage, front))


@app.command()
def catalog(
    kind: Annotated[str | None, typer.Argument(help="accelerators, fabrics, nodes ...")] = None,
    name: Annotated[str | None, typer.Argument(help="One entry.")] = None,
    json: Json = False,
) -> None:
    """Show what is known, with units and sources."""
    from dse.catalog import show

    if json:
        data: Any = show.kinds_data()
        if kind is not None:
            data = show.kind_data(kind) if name is None else show.entry_data(kind, name)
        print_json(data)
        return
    screen = console()
    if kind is None:
        show.render_kinds(screen)
    elif name is None:
        show.render_kind(screen, kind)
    else:
        show.render_entry(screen, kind, name)


@app.command()
def schema(
    fleet: Annotated[bool, typer.Option("--fleet", help="Of a fleet study.")] = False,
) -> None:
    """Print the JSON Schema of a study file."""
    from dse.session_fleet import fleet_schema
    from dse.study import study_schema

    print_json(fleet_schema() if fleet else study_schema())


def _command() -> str:
    import shlex

    return shlex.join(["dse", *sys.argv[1:]])

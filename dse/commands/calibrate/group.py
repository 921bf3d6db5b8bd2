"""The commands below ``dse calibrate``."""

from __future__ import annotations

import typer

from dse.commands.calibrate.fit import fit
from dse.commands.calibrate.import_logs import import_logs
from dse.commands.calibrate.import_throughput import import_throughput
from dse.commands.calibrate.profiles import compare, predict, show
from dse.commands.calibrate.run import run
from dse.commands.calibrate.suggest import suggest

calibrate = typer.Typer(
    help="Measure communication and compute speed, fit a profile, and predict with it.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

for command in (run, fit, show, predict, compare, suggest):
    calibrate.command()(command)
calibrate.command("import")(import_logs)
calibrate.command("import-throughput")(import_throughput)

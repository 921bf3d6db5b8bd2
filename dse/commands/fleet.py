"""``dse fleet``: from a fleet study to its answer on the screen and its report."""

from __future__ import annotations

import json as json_text
import time
from pathlib import Path
from typing import Annotated

import typer

from dse.commands.entry_kinds import fleet_names
from dse.commands.options import Json
from dse.commands.terminal import command_line
from dse.errors import StudyError
from dse.search_options import folder
from dse.spelling import meant
from dse.version import __version__


def fleet(
    study: Annotated[
        str,
        typer.Argument(
            help="A fleet study, or a name that dse catalog studies lists.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            parser=folder, metavar="PATH", help="Folder of the report [default: reports/FLEET]."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Analyse a fleet of jobs: its time, and gains from upgrades and other architectures."""
    from importlib import metadata

    from dse.calibration.files import check_writable
    from dse.fleet import answer, plain, read_fleet
    from dse.report.document_files import RUN
    from dse.report.fleet_words import answer_lines
    from dse.report.words import many
    from dse.report.write import check_free_of, earlier_report, write_fleet

    started = time.perf_counter()
    found = read_fleet(fleet_path(study))
    folder = out or Path("reports") / found.name
    check_writable(folder)
    check_free_of(RUN, folder)
    versions = {"dse": __version__, "numpy": metadata.version("numpy")}
    document = answer(found, command=command_line(), versions=versions, started=started)
    earlier = earlier_report(folder, document)
    page = write_fleet(document, folder)
    if json:
        print(json_text.dumps(plain(document), indent=1))
        return
    for line in answer_lines(document):
        print(line)
    jobs = many(document.population.jobs, "job")
    print(f"{jobs} priced in {document.timings.total_s:.1f} s")
    if earlier is not None:
        print(
            "The earlier report there was of another study, version or population; it is kept in "
            f"{earlier}."
        )
    print(f"Report: {page}")


def fleet_path(given: str) -> Path:
    """The study the user means: a path, or the name of one that comes with dse."""
    from dse.pricing.load import is_unknown, study_path

    path = study_path(given)
    if is_unknown(given, path):
        shipped = fleet_names()
        remedy = meant(given, shipped, f"name a file, or one of {', '.join(shipped)}")
        raise StudyError(
            given, 0, 0, "no such file, and no fleet study of that name comes with dse", remedy
        )
    return path

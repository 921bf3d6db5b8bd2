"""What ``dse fleet`` does: from a fleet study to its answer on the screen and its report."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from dse.errors import StudyError
from dse.spelling import meant


def fleet_path(given: str) -> Path:
    """The study the user means: a path, or the name of one that ships."""
    from dse.pricing.load import shipped_studies, study_path

    path = study_path(given)
    if path == Path(given) and not path.exists() and not path.suffix and len(path.parts) == 1:
        shipped = [file.stem for file in sorted(shipped_studies().glob("*.yaml"))
                   if is_fleet(file)]  # fmt: skip
        remedy = meant(given, shipped, f"name a file, or one of {', '.join(shipped)}")
        raise StudyError(given, 0, 0, "no such file, nor a fleet study that ships", remedy)
    return path


def is_fleet(path: Path) -> bool:
    """Whether a file begins as a fleet study does."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return False
    return any(line.startswith("fleet:") for line in lines)


def fleet_schema() -> dict[str, Any]:
    """The JSON Schema of a fleet study."""
    from dse.fleet.schema import fleet_schema as schema

    return schema()


def run_fleet(given: str, out: Path | None, with_facts: bool, as_json: bool, command: str) -> None:
    """Answer a fleet study, write its report, print the answer."""
    import numpy

    from dse import __version__
    from dse.fleet import answer, plain, read_fleet
    from dse.report.fleet_facts import fact_lines
    from dse.report.fleet_words import UNUSED, answer_lines, many, rests_on_profiles
    from dse.report.fleet_write import earlier_fleet, write_fleet
    from dse.report.write import check_writable

    started = time.perf_counter()
    study = read_fleet(fleet_path(given))
    folder = out or Path("reports") / study.name
    check_writable(folder)
    versions = {"dse": __version__, "numpy": numpy.__version__}
    document = answer(
        study, with_facts=with_facts, command=command, versions=versions, started=started
    )
    earlier = earlier_fleet(folder, document)
    page = write_fleet(document, folder)
    if as_json:
        print(json.dumps(plain(document), indent=1))
        return
    for line in answer_lines(document):
        print(line)
    if with_facts:
        print()
        for line in fact_lines(document):
            print(line)
    if document.profiles and not rests_on_profiles(document):
        print(f"Mind: {UNUSED}.")
    timing = document.timings
    print(
        f"{many(document.population.jobs, 'job')} in {timing.total_s:.1f} s "
        f"({timing.population_s:.1f} s to draw or read them, "
        f"{timing.model_s:.1f} s to price them)"
    )
    if earlier is not None:
        print(
            "The report that was there is of another study, version or population; it is kept in "
            f"{earlier}."
        )
    print(f"Report: {page}")


def rebuilt(folder: Path) -> Path:
    """Write a report again, a fleet's or another, from its document in ``folder``.

    Returns the path of its page. ``folder`` may also be the document itself.
    """
    from dse.report.finding import FLEET, document_path

    path = document_path(folder)
    if path.name != FLEET:
        from dse.report.write import read_document, write_report

        return write_report(read_document(path), path.parent)
    from dse.report.fleet_write import read_fleet_document, write_fleet

    return write_fleet(read_fleet_document(path), path.parent)

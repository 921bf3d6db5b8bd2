"""The files that reports are made from: which a folder has, what is in them, what is wrong."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from dse.errors import StudyError
from dse.report.document import SCHEMA_VERSION, RunDocument
from dse.report.json_form import by_row, parsed
from dse.study.cursor import FOLDER
from dse.text_source import from_json

if TYPE_CHECKING:
    from dse.fleet.document import FleetDocument

T = TypeVar("T")

RUN, FLEET = "run.json", "fleet.json"
RUN_LOG = "run.log.jsonl"  # while a run is not finished
_KINDS = {RUN: "a run", FLEET: "a fleet"}
_AGAIN = {RUN: "run the study again", FLEET: "run dse fleet on its study again"}
CHECKSUM = "checksum"  # of all else in a document, whatever its layout
TABLES = ("front", "sources")  # lists of a run that its file has by column
_FINISHED = "name the folder of a finished run"
_MOST_NAMED = 6
_MOST_LOOKED_AT = 10_000  # entries of a folder


def document_path(place: Path, names: Sequence[str] = (RUN, FLEET)) -> Path:
    """The document in a folder, the first of ``names`` that is there; a file is taken as it is.

    Raises :class:`~dse.errors.StudyError` that says what the folder has instead.
    """
    try:
        if os.path.isfile(place):
            return place
        for name in names:
            if os.path.isfile(place / name):
                return place / name
        problem, remedy = _instead(place, names)
    except OSError as cause:
        problem, remedy = f"cannot be read ({cause.strerror})", _FINISHED
    raise StudyError(str(place), 0, 0, problem, remedy)


def _instead(place: Path, names: Sequence[str]) -> tuple[str, str]:
    """What is there, and what to do."""
    if not os.path.isdir(place):
        return "is not a folder" if os.path.exists(place) else "no such folder", _FINISHED
    entries = sorted(place.iterdir())[:_MOST_LOOKED_AT]
    others = [name for name in _KINDS if name not in names and os.path.isfile(place / name)]
    below = [entry for entry in entries if any(os.path.isfile(entry / name) for name in names)]
    if os.path.isfile(place / RUN_LOG):
        problem = "the run in it is not finished"
        return problem, f"continue with dse run STUDY --out {place} --resume"
    if others:
        return f"the report of {_KINDS[others[0]]} is in it", f"name that of {_KINDS[names[0]]}"
    if below:
        shown = ", ".join(entry.name for entry in below[:_MOST_NAMED])
        more = f" and {len(below) - _MOST_NAMED} more" * (len(below) > _MOST_NAMED)
        if len(below) == 1:
            return f"no report in it, but in its folder {shown}", f"name {below[0]}"
        return f"no report in it, but in its folders {shown}{more}", f"name one, as {below[0]}"
    if not entries:
        return "the folder is empty", _FINISHED
    return f"no {' and no '.join(names)} in it", _FINISHED


def read_json(path: Path) -> Any:
    """What a document holds. Raises :class:`~dse.errors.StudyError` with the place of a fault."""
    kind, again = _KINDS.get(path.name, "a run"), _AGAIN.get(path.name, _AGAIN[RUN])
    no_document = f"is not the document of {kind}", again
    if path.name not in _KINDS:
        no_document = "is not a report", f"{_FINISHED}, such as reports/NAME"
    try:
        text = path.read_text(encoding="utf-8")
        return from_json(text)
    except OSError as cause:
        problem = f"cannot be read ({cause.strerror})"
        raise StudyError(str(path), 0, 0, problem, _FINISHED) from cause
    except json.JSONDecodeError as cause:
        if not text.strip():
            raise StudyError(str(path), 0, 0, "the file is empty", again) from cause
        if text.lstrip()[0] != "{":
            raise StudyError(str(path), 0, 0, *no_document) from cause
        problem = f"the document of {kind} is damaged here"
        if "Unterminated" in cause.msg or cause.pos >= len(text.rstrip()):
            problem = f"the document of {kind} breaks off here"
        raise StudyError(str(path), cause.lineno, cause.colno, problem, again) from cause
    except (ValueError, RecursionError) as cause:  # not UTF-8, or lists in lists without end
        raise StudyError(str(path), 0, 0, *no_document) from cause


def sealed(document: dict[str, Any]) -> str:
    """The content of a document's file, a line a key, with its checksum as the last.

    Raises ValueError where a number is not finite.
    """
    whole = {**document, CHECKSUM: checksum(document)}
    lines = [
        f"{json.dumps(key)}: {json.dumps(value, allow_nan=False, separators=(',', ':'))}"
        for key, value in whole.items()
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def checksum(document: dict[str, Any]) -> str:
    """SHA-256 of a document's values, in hexadecimal."""
    plainly = json.dumps(document, allow_nan=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(plainly.encode()).hexdigest()


def read_document(folder: Path) -> RunDocument:
    """The document of a finished run. Raises :class:`~dse.errors.StudyError` where there is none,
    or where it is damaged."""
    path = document_path(folder, (RUN,))
    document = _checked(path, RunDocument, "schema_version", SCHEMA_VERSION)
    _check_names(path, document)
    return document


def read_fleet_document(place: Path) -> FleetDocument:
    """The fleet.json of a report. Raises :class:`~dse.errors.StudyError`."""
    from dse.fleet.document import FORMAT, FleetDocument

    return _checked(document_path(place, (FLEET,)), FleetDocument, "format", FORMAT)


def _checked(path: Path, kind: type[T], version: str, wanted: int | str) -> T:
    """The document in a file, if the value under ``version`` is the wanted one, nobody changed it
    and all of it is there. Raises :class:`~dse.errors.StudyError`."""
    from pydantic import ValidationError

    found = read_json(path)
    if not isinstance(found, dict) or found.get(version) != wanted:
        given = found.get(version) if isinstance(found, dict) else None
        problem = f"is of another format: its {version} is {given!r}, and not {wanted!r}"
        raise StudyError(str(path), 0, 0, problem, "run the study again")
    sealed_by = found.pop(CHECKSUM, None)
    try:
        unchanged = sealed_by == checksum(found)
    except (ValueError, RecursionError):
        unchanged = False
    if not unchanged:
        problem = "was changed after dse wrote it: its checksum does not match"
        raise StudyError(str(path), 0, 0, problem, "run the study again")
    with suppress(AttributeError, LookupError, RecursionError, StopIteration, TypeError):
        found |= {name: by_row(found[name]) for name in TABLES if name in found}
    try:
        return parsed(kind, found)
    except ValidationError as cause:
        error = cause.errors()[0]
    place = ".".join(map(str, error["loc"]))
    problem = f"{place}: {error['msg'][:1].lower()}{error['msg'][1:]}"
    if error["type"] == "missing":
        problem = f"has no '{place}'"
    raise StudyError(str(path), 0, 0, problem, "run the study again")


def _check_names(path: Path, document: RunDocument) -> None:
    """Raise for a name of the study, or a label of a point, that could add a line to a script."""
    name = document.study.name
    labels = {label for point in document.front for label in point.config.values()}
    if not FOLDER.fullmatch(name) or any(len(label.splitlines()) > 1 for label in labels):
        problem = f"'{name}' is no name of a study, or a label of a point has several lines"
        raise StudyError(str(path), 0, 0, problem, _AGAIN[RUN])

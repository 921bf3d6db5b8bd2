"""Reading calibration files with checks that give the place of an error, and writing them."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from dse.errors import ArgumentError, OutputError, StudyError
from dse.mistakes import Mistakes, Part
from dse.yaml_source import Loc, Source, read_yaml

if TYPE_CHECKING:  # it takes a while to import
    from pydantic import TypeAdapter

MAX_FILE_BYTES = 20_000_000
MAX_FILE_VALUES = 2_000_000  # a sample has some 40
BEGINNING = 200  # characters that hold a file's format
MEASUREMENTS, PROFILE = "dse-measurements", "dse-profile"
# What to give instead of another file, by the family of the file that is wanted.
GIVE = {
    MEASUREMENTS: "give a measurement file; to make one from a log: dse calibrate import",
    PROFILE: "give a profile; to make one from measurements: dse calibrate fit",
}
T = TypeVar("T")


class Doubt(NamedTuple):
    """What is wrong with a value that is valid alone. remedy: the usual one where it is empty."""

    loc: Loc
    problem: str
    remedy: str = ""


_ADAPTERS: dict[type[Any], TypeAdapter[Any]] = {}  # making one takes longer than checking a file


def read_checked(
    kind: type[T],
    path: str | Path,
    wanted: str,
    remedy: str,
    doubts: Callable[[T], Iterable[Doubt]] = lambda _: (),
) -> T:
    """The YAML or JSON file at ``path`` (JSON is YAML) as the dataclass ``kind``.

    doubts: what is wrong with values that are valid, each alone. Raises StudyError with every
    mistake unless it is a mapping whose ``format`` is ``wanted`` and all is valid; ``remedy`` says
    how to make a valid file.
    """
    family, mistakes = wanted.split("/")[0], Mistakes()
    try:
        source = read_yaml(path, MAX_FILE_BYTES, MAX_FILE_VALUES, mistakes=mistakes)
    except StudyError as cause:
        if not cause.line:  # no file, or none that can be read
            raise
        give = GIVE.get(family, remedy)
        raise StudyError(cause.file, cause.line, cause.column, cause.problem, give) from None
    if not isinstance(source.data, dict) or "format" not in source.data:
        raise source.error((), f"has no 'format: {wanted}'", GIVE.get(family, remedy))
    found = str(source.data["format"])
    if found != wanted:
        what = "another version" if found.startswith(f"{family}/") else "another kind of file"
        problem = f"format '{found}' is {what}; this version of dse reads '{wanted}'"
        raise source.error(("format",), problem, remedy)
    read = _validated(kind, source, remedy, mistakes)
    mistakes.told()
    for doubt in doubts(read()):
        mistakes.note(source.error(doubt.loc, doubt.problem, doubt.remedy or remedy))
    mistakes.told()
    return read()


def check_replaces(path: str | Path, family: str, option: str = "--out") -> None:
    """Raise StudyError rather than overwrite a file of another ``family`` of formats. option: by
    which its path was given."""
    try:
        with Path(path).open(encoding="utf-8") as stream:
            begun = stream.read(BEGINNING)
    except (OSError, UnicodeDecodeError) as cause:
        begun = "" if isinstance(cause, UnicodeDecodeError) else f"{family}/"  # said on writing
    if f"{family}/" not in begun and Path(path).stat().st_size:
        problem = f"'{path}' exists and is another kind of file"
        raise ArgumentError(option, problem, "choose another name, or remove it")


def _validated(kind: type[T], source: Source, remedy: str, mistakes: Mistakes) -> Part[T]:
    """The file as ``kind``; what is wrong is noted, each with its place."""
    from pydantic import TypeAdapter, ValidationError

    if kind not in _ADAPTERS:
        _ADAPTERS[kind] = TypeAdapter(kind)
    adapter: TypeAdapter[T] = _ADAPTERS[kind]
    try:
        return Part(adapter.validate_python(source.data))
    except ValidationError as cause:
        errors = cause.errors()
    above = {error["loc"][:at] for error in errors for at in range(len(error["loc"]))}
    for error in errors:
        loc, message = error["loc"], error["msg"]
        name = ".".join(map(str, loc))
        if error["type"] == "too_short" and loc in above:
            continue  # for what is wrong with its entries
        if error["type"] == "unexpected_keyword_argument":
            mistakes.note(source.error(loc, f"unknown key '{name}'", "remove it", key=True))
        elif error["type"] == "missing":
            mistakes.note(source.error(loc[:-1], f"the key '{name}' is missing", remedy))
        else:
            problem = f"{name}: {message[:1].lower()}{message[1:]}"
            mistakes.note(source.error(loc, problem, remedy))
    return Part()


@contextmanager
def beside(path: Path, remedy: str = "", parents: bool = False) -> Iterator[Path]:
    """A name to write under, which becomes ``path`` when all is written. Raises
    :class:`OutputError`, which leaves ``path`` as it was. parents: whether to make its folder."""
    try:
        if parents:
            path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{path.name}-", dir=path.parent) as folder:
            place = Path(folder) / path.name
            yield place
            os.replace(place, path)
    except OSError as cause:
        reason = f"cannot be written: {cause.strerror or cause}{remedy}"
        raise OutputError(f"{path}: {reason}") from cause


def write_text(path: str | Path, text: str, option: str = "--out") -> None:
    """Write :func:`beside` the path. option: what the user gave it as."""
    target = Path(path).resolve()  # a link keeps leading there
    if os.path.exists(target) and not os.path.isfile(target):
        raise OutputError(f"{path}: is not a regular file; choose another {option}")
    with beside(target, f"; choose another {option}", parents=True) as place:
        place.write_text(text, encoding="utf-8")


def check_writable(folder: Path, option: str = "--out") -> None:
    """Raise OutputError where nothing can be written; before time is spent on it.

    What would be made of the folder, and a file in it, are made within a temporary folder beside
    it (so that ranks that check the same folder do not meet) and removed. option: what the user
    gave the folder as.
    """
    place = next(path for path in (folder, *folder.absolute().parents) if os.path.lexists(path))
    what = f"{folder}:" if place == folder else f"{folder}: {place}"
    if not os.path.isdir(place):
        raise OutputError(f"{what} is not a folder; choose another {option}")
    parts = folder.absolute().relative_to(place.absolute()).parts
    try:
        with tempfile.TemporaryDirectory(prefix=".dse-", dir=place) as trial:
            made = Path(trial, *(part for part in parts if part != os.pardir))
            made.mkdir(parents=True, exist_ok=True)
            (made / "file").touch()
    except OSError:
        raise OutputError(f"{what} cannot be written; choose another {option}") from None


def rounded(value: float, digits: int = 6) -> float:
    """``value`` with ``digits`` significant digits: a file keeps no more than was measured."""
    return float(f"{value:.{digits}g}") if math.isfinite(value) else value

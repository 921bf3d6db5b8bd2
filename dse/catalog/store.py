"""Where the catalogue lies, what it contains, and reading one of its files."""

from __future__ import annotations

import csv
import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar, get_args, get_type_hints

from dse.errors import DseError, StudyError
from dse.spelling import PRODUCTS, alike, alternatives, of_model, product, same

if TYPE_CHECKING:
    from dse.yaml_source import Source as File

S = TypeVar("S")
# kind (a folder of models/, or a table) -> what one of its entries is called
KINDS = {
    "accelerators": "accelerator",
    "fabrics": "fabric",
    "nodes": "node type",
    "transports": "transport",
    "approaches": "approach to aggregation",
    "workloads": "workload",
    "convergence": "quality target",
    "populations": "population of jobs",
    "prices": "price list",
    "regions": "region",
}
T = TypeVar("T")
_MOST_ENTRIES = 3  # that are suggested
TABLES = {"regions": "regions.csv"}  # kinds whose entries are rows of one file
_ENDINGS = {"populations": (".yaml", ".csv")}  # of the files of a kind; .yaml of all others


class UnknownName(StudyError):
    """No entry of this kind has this name; ``suggestions`` are the nearest that exist."""

    def __init__(self, kind: str, name: str, suggestions: tuple[str, ...] = ()) -> None:
        self.kind, self.name, self.suggestions = kind, name, suggestions
        remedy = f"see dse catalog {kind}" if kind in KINDS else ""
        if kind in PRODUCTS:
            remedy = product(name, names(kind), products()) or remedy
        if suggestions:
            remedy = f"did you mean {alternatives(suggestions)}?"
        super().__init__(name or "''", 0, 0, f"no such {KINDS.get(kind, kind)}", remedy)


@dataclass(frozen=True)
class Source:
    """A document that numbers were taken from, and the day it was read."""

    key: str
    title: str
    url: str
    accessed: str


@dataclass(frozen=True)
class Row:
    """A row of a table: its file, line, and cells by the names of their columns."""

    path: Path
    line: int
    cells: Mapping[str, str]

    def wrong(self, problem: str, remedy: str = "write it") -> StudyError:
        """The error to raise for the row."""
        return StudyError(str(self.path), self.line, 1, problem, remedy)


class Stacks(dict[str, S], Generic[S]):
    """What a file of the catalogue, or a folder of them, says of stacks of software, by name."""

    def __init__(self, path: Path, found: Mapping[str, S]) -> None:
        super().__init__(found)
        self._path = path

    def __missing__(self, name: str) -> S:
        problem, remedy = f"has no stack {name}", "take it from the catalogue that comes with dse"
        raise StudyError(str(self._path), 0, 0, problem, remedy)


def models_dir() -> Path:
    """The folder of the catalogue: ``$DSE_MODELS``, else the installed data, else the checkout's.

    Raises :class:`DseError` where none of them is a folder.
    """
    override = os.environ.get("DSE_MODELS")
    if override:
        folder = Path(override)
        if not folder.is_dir():
            raise DseError(f"DSE_MODELS={override}: not a folder; point it at a copy of models/")
        return folder
    return _shipped_dir()


def models_file(name: str) -> Path:
    """A file or folder of the catalogue; the same object every time, so that it is a cheap key of
    what was read."""
    return _below(models_dir(), name)


@cache
def _below(folder: Path, name: str) -> Path:
    return folder / name


def of_file(name: str) -> Callable[[Callable[[Path], T]], Callable[[], T]]:
    """Decorate the reading of a file or folder of the catalogue by its path: it is called without
    an argument then, and reads each catalogue once."""

    def decorated(read: Callable[[Path], T]) -> Callable[[], T]:
        cached = cache(read)

        def found() -> T:
            return cached(models_file(name))

        found.__doc__ = read.__doc__
        return found

    return decorated


def shipped_studies() -> dict[str, Path]:
    """By name, the studies of search_spaces beside the catalogue, then those of papers."""
    folder = models_dir().parent / "search_spaces"
    files = (*sorted(folder.glob("*.yaml")), *sorted(folder.glob("papers/*.yaml")))
    return {path.stem: path for path in files}


@cache
def _shipped_dir() -> Path:
    package = Path(str(resources.files("dse")))
    for folder in (package / "_data" / "models", package.parent / "models"):
        if folder.is_dir():
            return folder
    raise DseError("the catalogue is missing; reinstall dse or set DSE_MODELS to its folder")


def names(kind: str) -> tuple[str, ...]:
    """Names of all entries of ``kind`` (a key of :data:`KINDS`), sorted."""
    if kind not in KINDS:
        near = alike(kind, KINDS) or entries_like(kind)
        raise UnknownName("kind of catalogue entry", kind, near or tuple(KINDS))
    if kind in TABLES:
        return tuple(_rows(models_file(TABLES[kind])))
    return tuple(_entries(models_file(kind)))


def entries_like(name: str) -> tuple[str, ...]:
    """Entries of any kind that may be meant by a name, each after its kind: ``nodes dgx-h100``."""
    exact = [f"{kind} {name}" for kind in KINDS if name in names(kind)]
    near = (f"{kind} {entry}" for kind in KINDS for entry in alike(name, candidates(kind, name)))
    return tuple(exact or list(near)[:_MOST_ENTRIES])


def candidates(kind: str, name: str) -> Sequence[str]:
    """The entries that a misspelt name may mean: of a product none that is another one."""
    if kind not in PRODUCTS:
        return names(kind)
    return () if product(name, names(kind), products()) else of_model(name, names(kind))


@of_file("products.yaml")
def products(path: Path) -> Mapping[str, str]:
    """Products that the catalogue does not have, by :func:`~dse.spelling.same`, and why not."""
    told = read_file(path).data if path.exists() else {}
    return {same(str(word)): str(why) for why, words in told.items() for word in words}


@cache
def _entries(folder: Path) -> Mapping[str, Path]:
    """The file of each entry, by name in order."""
    endings = _ENDINGS.get(folder.name, (".yaml",))
    return {path.stem: path for path in sorted(folder.glob("*.*"), key=lambda path: path.stem)
            if path.suffix in endings}  # fmt: skip


def find(kind: str, name: str) -> Path:
    """The file of an entry. Raises :class:`UnknownName` with the nearest names."""
    _check_known(kind, name)
    if kind in TABLES:
        return models_file(TABLES[kind])
    return _entries(models_file(kind))[name]


def row(kind: str, name: str) -> Row:
    """The row of an entry in its table. Raises :class:`UnknownName` with the nearest names."""
    _check_known(kind, name)
    return _rows(models_file(TABLES[kind]))[name]


def _check_known(kind: str, name: str) -> None:
    known = names(kind)
    if name not in known:
        raise UnknownName(kind, name, alike(name, candidates(kind, name)))


@cache
def _rows(path: Path) -> Mapping[str, Row]:
    """The rows of a table by their first cell, in the order of the file."""
    return {next(iter(one.cells.values())): one for one in table_rows(path)}


def table_rows(path: Path) -> list[Row]:
    """The rows of a table of the catalogue. Raises StudyError where one lacks a cell."""
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.reader(file)
        header = next(reader, [])
        found = []
        for cells in reader:
            one = Row(path, reader.line_num, dict(zip(header, cells, strict=False)))
            if len(cells) != len(header):
                raise one.wrong(f"{len(cells)} cells, not {len(header)}", "write every column")
            found.append(one)
    return found


def table(path: Path, kind: type[T]) -> tuple[T, ...]:
    """The rows of a table of the catalogue as objects of a dataclass, whose fields its columns are;
    an empty cell has its default. Raises StudyError where a cell is none of what its field may be,
    or the source is unknown."""
    fields, found = get_type_hints(kind), []
    for one in table_rows(path):
        values = dict[str, Any]()
        for name, text in one.cells.items():
            try:
                values |= {name: _cell(fields[name], text)} if text else {}
            except ValueError as cause:
                raise one.wrong(f"{name} '{text}'", f"write {cause}") from cause
        if values.get("source", "") not in sources():
            raise one.wrong("cites an unknown source", "describe it in sources.yaml")
        for name in fields:
            if name not in values and not hasattr(kind, name):
                raise one.wrong(f"{name} is missing", "write every column")
        found.append(kind(**values))
    return tuple(found)


def _cell(kind: Any, text: str) -> Any:
    """What a cell says; ValueError with what it may say."""
    words = ("yes", "no") if kind is bool else get_args(kind)
    if words:
        if text not in words:
            raise ValueError(alternatives(words))
        return text == "yes" if kind is bool else text
    try:
        return kind(text)
    except ValueError:
        raise ValueError("a number") from None


@of_file("sources.yaml")
def sources(path: Path) -> Mapping[str, Source]:
    """All documents the catalogue cites, by key."""
    file = read_file(path)
    found = {}
    for key, entry in file.data.items():
        if not isinstance(entry, dict) or not {"title", "accessed"} <= set(entry):
            raise file.error((key,), f"source {key} needs a title and an accessed date")
        found[key] = Source(
            key, str(entry["title"]), str(entry.get("url", "")), str(entry["accessed"])
        )
    return found


def catalogue_hash() -> str:
    """SHA-256 over every file of the catalogue except calibrations, in order of path."""
    digest = hashlib.sha256()
    for name, path in _files():
        digest.update(name.encode() + b"\0")
        digest.update(path.read_bytes() + b"\0")
    return digest.hexdigest()


def file_hashes() -> dict[str, str]:
    """The beginning of the SHA-256 of each of these files, by path."""
    return {name: hashlib.sha256(path.read_bytes()).hexdigest()[:16] for name, path in _files()}


def _files() -> Iterator[tuple[str, Path]]:
    """(path within the catalogue, path) of its files except calibrations, in order."""
    folder = models_dir()
    for path in sorted(folder.rglob("*"), key=lambda path: path.relative_to(folder).as_posix()):
        relative = path.relative_to(folder)
        hidden = any(part.startswith(".") for part in relative.parts)
        if path.is_file() and not hidden and relative.parts[0] != "calibrations":
            yield relative.as_posix(), path


def read_file(path: Path) -> File:
    """A YAML file of the catalogue, or a user's own of that kind: a mapping, keys may be numbers.

    Raises :class:`~dse.errors.StudyError` where it is not readable as one.
    """
    from dse.yaml_source import read_yaml

    found = read_yaml(path, numbers_as_keys=True)
    if not isinstance(found.data, dict):
        raise found.error((), "is not a mapping", "write 'key: value' lines")
    return found

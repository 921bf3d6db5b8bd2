"""Where the catalogue lies, what it contains, and reading one of its files."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from dse.errors import DseError, StudyError
from dse.spelling import alike, alternatives

# kind (a folder of models/) -> what one of its entries is called
KINDS = {
    "accelerators": "accelerator",
    "fabrics": "fabric",
    "nodes": "node type",
    "transports": "transport",
    "approaches": "approach to aggregation",
    "workloads": "workload",
    "populations": "population of jobs",
    "prices": "price list",
}
_ENDINGS = {"populations": (".yaml", ".csv")}  # of the files of a kind; .yaml of all others


class UnknownName(DseError):
    """No entry of this kind has this name; ``suggestions`` are the nearest that exist."""

    def __init__(self, kind: str, name: str, suggestions: tuple[str, ...] = ()) -> None:
        self.kind, self.name, self.suggestions = kind, name, suggestions
        hint = f"; see dse catalog {kind}" if kind in KINDS else ""
        if suggestions:
            hint = f"; did you mean {alternatives(suggestions)}?"
        shown = name or "''"
        super().__init__(f"{shown}: no such {KINDS.get(kind, kind)}{hint}")


@dataclass(frozen=True)
class Source:
    """A document that numbers were taken from, and the day it was read."""

    key: str
    title: str
    url: str
    accessed: str


def models_dir() -> Path:
    """The folder of the catalogue: ``$DSE_MODELS``, else the installed data, else the checkout's.

    Raises :class:`DseError` where none of them is a folder.
    """
    override = os.environ.get("DSE_MODELS")
    if override:
        chosen = Path(override)
        if not chosen.is_dir():
            raise DseError(f"DSE_MODELS={override}: not a folder; point it at a copy of models/")
        return chosen
    return _shipped_dir()


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
        near = alike(kind, KINDS)
        raise UnknownName("kind of catalogue entry", kind, near or tuple(KINDS))
    return tuple(_entries(models_dir() / kind))


@cache
def _entries(folder: Path) -> Mapping[str, Path]:
    """The file of each entry, by name in order."""
    endings = _ENDINGS.get(folder.name, (".yaml",))
    return {path.stem: path for path in sorted(folder.glob("*.*"), key=lambda path: path.stem)
            if path.suffix in endings}  # fmt: skip


def find(kind: str, name: str) -> Path:
    """The file of an entry. Raises :class:`UnknownName` with the nearest names."""
    known = names(kind)
    if name not in known:
        raise UnknownName(kind, name, alike(name, known))
    return _entries(models_dir() / kind)[name]


def sources() -> Mapping[str, Source]:
    """All documents the catalogue cites, by key."""
    return _sources(models_dir())


@cache
def _sources(folder: Path) -> Mapping[str, Source]:
    path = folder / "sources.yaml"
    listed = read_yaml(path)
    found = {}
    for key, entry in listed.items():
        if not isinstance(entry, dict) or not {"title", "accessed"} <= set(entry):
            problem = f"source {key} needs a title and an accessed date"
            raise StudyError(str(path), *place(path, (str(key),)), problem)
        found[str(key)] = Source(
            str(key), str(entry["title"]), str(entry.get("url", "")), str(entry["accessed"])
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


@cache
def _loader() -> Any:
    """The YAML loader: C where there is one, and a repeated key is an error."""
    import yaml

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(base):  # type: ignore[misc]
        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            seen = set()
            for key_node, _ in node.value:
                if key_node.value in seen:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"'{key_node.value}' is given twice", key_node.start_mark
                    )
                seen.add(key_node.value)
            return super().construct_mapping(node, deep)

    return Loader


def read_yaml(path: Path) -> dict[str, Any]:
    """The mapping in a YAML file. Raises :class:`StudyError` where it is not readable as one."""
    import yaml

    try:
        data = yaml.load(path.read_text(encoding="utf-8"), Loader=_loader())
    except OSError as cause:
        problem = f"cannot be read ({cause.strerror})"
        raise StudyError(str(path), 0, 0, problem, "name a file that exists") from cause
    except UnicodeDecodeError as cause:
        raise StudyError(str(path), 0, 0, "is not text", "save it as UTF-8") from cause
    except yaml.YAMLError as cause:
        mark = getattr(cause, "problem_mark", None)
        line, column = (mark.line + 1, mark.column + 1) if mark else (0, 0)
        problem = str(getattr(cause, "problem", None) or "is not YAML")
        raise StudyError(str(path), line, column, problem) from cause
    if not isinstance(data, dict):
        raise StudyError(str(path), 1, 1, "is not a mapping", "write 'key: value' lines")
    return data


def place(path: Path, trail: tuple[str | int, ...]) -> tuple[int, int]:
    """Line and column, from 1, of the value under the keys of ``trail``; of its deepest part known.

    Reads the file again: errors are rare, marks are not kept.
    """
    import yaml

    node: Any = yaml.compose(path.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
    for step in trail:
        inner = None
        if isinstance(node, yaml.MappingNode):
            inner = next((value for key, value in node.value if key.value == str(step)), None)
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int):
            inner = node.value[step] if step < len(node.value) else None
        if inner is None:
            break
        node = inner
    return node.start_mark.line + 1, node.start_mark.column + 1

"""The file edge of calibration: YAML or JSON with the place of every value, and atomic writes."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from dse.errors import OutputError, StudyError

MAX_FILE_BYTES = 20_000_000
Place = tuple[int, int]
Key = tuple[str | int, ...]
T = TypeVar("T")


def load_marked(path: str | Path) -> tuple[Any, dict[Key, Place]]:
    """The file's value, and line and column (from 1) of every value by its key path.

    JSON is read as the YAML it is, with one difference that matters: ``1e-6`` is a number here.
    Raises StudyError for an unreadable, oversized or non-text file, a syntax error, a duplicate
    key, or an alias (no calibration file needs one, and nested ones explode).
    """
    import yaml

    file = str(path)
    try:
        if os.path.getsize(path) > MAX_FILE_BYTES:
            raise StudyError(file, 0, 0, "larger than 20 MB", "give a calibration file")
        text = Path(path).read_text(encoding="utf-8")
    except OSError as cause:
        reason = cause.strerror or "cannot be read"
        raise StudyError(file, 0, 0, reason, "give the path of a readable file") from None
    except UnicodeDecodeError:
        raise StudyError(file, 0, 0, "is not UTF-8 text", "give a calibration file") from None
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        root = yaml.compose(text, Loader=loader)
    except yaml.YAMLError as cause:
        mark = getattr(cause, "problem_mark", None)
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        problem = getattr(cause, "problem", None) or "not valid YAML"
        raise StudyError(file, line, column, f"syntax error: {problem}", "correct it") from None
    places: dict[Key, Place] = {}
    if root is None:
        raise StudyError(file, 1, 1, "is empty", "give a calibration file")
    return _build(root, (), places, file, set()), places


def _build(node: Any, key: Key, places: dict[Key, Place], file: str, seen: set[int]) -> Any:
    import yaml

    line, column = node.start_mark.line + 1, node.start_mark.column + 1
    places[key] = (line, column)
    if isinstance(node, yaml.ScalarNode):
        return _scalar(node.value) if node.style is None else node.value
    if id(node) in seen:
        raise StudyError(file, line, column, "an alias is used", "write the value out")
    seen.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        return [_build(item, (*key, i), places, file, seen) for i, item in enumerate(node.value)]
    result: dict[str, Any] = {}
    for name_node, value_node in node.value:
        name = str(name_node.value)
        if name in result:
            mark = name_node.start_mark
            problem = f"duplicate key '{name}'"
            raise StudyError(file, mark.line + 1, mark.column + 1, problem, "keep one of them")
        result[name] = _build(value_node, (*key, name), places, file, seen)
    return result


def _scalar(text: str) -> Any:
    constants = {"null": None, "~": None, "": None, "true": True, "false": False}
    if text in constants:
        return constants[text]
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            continue
    return text


def check_format(
    value: Any, places: Mapping[Key, Place], file: str, wanted: str, remedy: str
) -> None:
    """Raise StudyError unless ``value`` is a mapping whose ``format`` is ``wanted``."""
    family = wanted.split("/")[0]
    if not isinstance(value, dict) or "format" not in value:
        raise StudyError(file, 1, 1, f"has no 'format: {wanted}'", f"give a {family} file")
    found = value["format"]
    if found != wanted:
        line, column = places[("format",)]
        what = "another version" if str(found).startswith(f"{family}/") else "another kind of file"
        problem = f"format '{found}' is {what}; this version of dse reads '{wanted}'"
        raise StudyError(file, line, column, problem, remedy)


def validate(kind: type[T], value: Any, places: Mapping[Key, Place], file: str) -> T:
    """``value`` as the dataclass ``kind``; StudyError at the first value that does not fit."""
    from pydantic import TypeAdapter, ValidationError

    try:
        return TypeAdapter(kind).validate_python(value)
    except ValidationError as cause:
        error = cause.errors()[0]
    key: Key = tuple(error["loc"])
    name = ".".join(str(part) for part in key)
    while key not in places:
        key = key[:-1]
    line, column = places[key]
    remedies = {
        "missing": f"add the key '{name}'",
        "unexpected_keyword_argument": "remove the key",
    }
    remedy = remedies.get(error["type"], "restore the file, or measure and fit again")
    raise StudyError(file, line, column, f"{name}: {error['msg']}", remedy)


def write_text(path: str | Path, text: str) -> None:
    """Write under a temporary name and rename; an OutputError leaves ``path`` as it was."""
    target = Path(path)
    temporary = ""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(
            "w", dir=target.parent, prefix=f".{target.name}.", delete=False, encoding="utf-8"
        ) as stream:
            temporary = stream.name
            stream.write(text)
        os.chmod(temporary, 0o644)
        os.replace(temporary, target)
    except BaseException as cause:
        if temporary:
            Path(temporary).unlink(missing_ok=True)
        if isinstance(cause, OSError):
            reason = cause.strerror or str(cause)
            raise OutputError(
                f"{target}: cannot be written: {reason}; choose another --out"
            ) from None
        raise


def rounded(value: float, digits: int = 6) -> float:
    """``value`` with ``digits`` significant digits: a file holds no more than was measured."""
    return float(f"{value:.{digits}g}") if math.isfinite(value) else value

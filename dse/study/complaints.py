"""Pydantic's findings about the shape of a file -> mistakes, each with its place and remedy."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from dse.errors import MOST_TOLD, StudyError
from dse.mistakes import Mistakes, Part
from dse.spelling import alternatives
from dse.study.cursor import Cursor, clipped
from dse.study.names import misspelt, suggest
from dse.yaml_source import Loc, Source

Model = TypeVar("Model", bound=BaseModel)
_WANTED = {
    "string_type": "text",
    "string_too_short": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
}


def checked(
    source: Source, model: type[Model], examples: Mapping[str, str], mistakes: Mistakes
) -> tuple[Part[Model], Cursor]:
    """The file in the shape of ``model``, and a way to read what is of this shape if not all is.

    examples: of what to write for a key, the key included. mistakes: where complaints are noted.
    """
    if not isinstance(source.data, dict):
        shown, first = Cursor(source).shown, next(iter(model.model_fields))
        problem = f"a study is a mapping of keys, not {shown}"
        raise source.error((), problem, f"start with {first}: ..")
    try:
        return Part(model.model_validate(source.data)), Cursor(source)
    except ValidationError as cause:
        errors = cause.errors(include_url=False, include_context=True)
    places = [_as_written(source.data, error["loc"]) for error in errors]
    unknown = [loc for loc, error in zip(places, errors, strict=True)
               if error["type"] == "extra_forbidden"]  # fmt: skip
    compared = sorted(unknown, key=lambda loc: source.mark(loc, key=True))[:MOST_TOLD]
    for loc, error in zip(places, errors, strict=True):
        if error["type"] == "extra_forbidden" and loc not in compared:  # its line is not shown
            mistakes.note(source.error(loc, f"unknown key '{clipped(str(loc[-1]))}'", key=True))
            continue
        # What is misspelt is missing as well: then only the spelling is worth a word.
        if error["type"] == "missing":
            beside = [str(other[-1]) for other in compared if other[:-1] == loc[:-1]]
            known = _known(model, loc[:-1], Cursor(source, loc[:-1]).value)
            if misspelt(str(loc[-1]), beside, known):
                continue
        mistakes.note(_complaint(source, model, examples, error, loc))
    return Part(), Cursor(source, (), frozenset(places))


def _complaint(
    source: Source, model: type[BaseModel], examples: Mapping[str, str], error: Any, loc: Loc
) -> StudyError:
    kind, key = error["type"], str(loc[-1])
    if kind == "extra_forbidden":
        known = _known(model, loc[:-1], Cursor(source, loc[:-1]).value)
        remedy = suggest(key, known, f"use {alternatives(known)}" if known else "remove it")
        return source.error(loc, f"unknown key '{clipped(key)}'", remedy, key=True)
    if kind == "missing":
        remedy = f"add {examples.get(key, key + ': ..')}"
        return source.error(loc[:-1], f"missing key '{key}'", remedy)
    cursor = Cursor(source, loc)
    label, shown = cursor.label, cursor.shown
    if kind == "literal_error":
        words = re.findall("'([^']+)'", error["ctx"]["expected"])
        text = str(cursor.value)
        return cursor.wrong(f"{label}: {shown} is not known", suggest(text, words))
    if kind == "bool_type":
        return cursor.wrong(f"{label}: {shown} is neither true nor false", f"write {label}: false")
    if kind == "too_short":
        return cursor.wrong(f"{label}: an empty list", f"write one entry, or drop {label}")
    if kind in _WANTED:
        wanted = _WANTED[kind]
        remedy = f"write {examples.get(label, wanted)}"
        return cursor.wrong(f"{label}: {shown} is not {wanted}", remedy)
    limits = error.get("ctx", {})
    bounds = [
        f"{word} {limits[name]}"
        for name, word in (("gt", "above"), ("ge", "at least"), ("lt", "below"), ("le", "at most"))
        if name in limits
    ]
    remedy = f"write a value {alternatives(bounds)}" if bounds else error["msg"]
    return cursor.wrong(f"{label}: {shown} is out of range", remedy)


def _as_written(data: Any, loc: Loc) -> Loc:
    """The place in the file, where a list of one may be written without brackets."""
    found: list[str | int] = []
    for step in loc:
        if isinstance(step, int) and not isinstance(data, list):
            continue
        found.append(step)
        inside = isinstance(data, list) or (isinstance(data, dict) and step in data)
        data = data[step] if inside else None
    return tuple(found)


def _known(model: type[BaseModel], loc: Loc, given: Any) -> list[str]:
    """The keys that the mapping at ``loc`` may have besides those that are given."""
    for step in loc:
        if isinstance(step, str):
            fields = {field.alias or name: field for name, field in model.model_fields.items()}
            model = _model_in(fields[step].annotation) or model
    every = [field.alias or name for name, field in model.model_fields.items()]
    return [name for name in every if not isinstance(given, dict) or name not in given]


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := _model_in(part))), None)

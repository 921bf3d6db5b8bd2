"""Pydantic's findings about the shape of a study -> the first of them as one StudyError."""

from __future__ import annotations

import re
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from dse.errors import StudyError
from dse.spelling import alternatives
from dse.study.cursor import Cursor, clipped
from dse.study.names import suggest
from dse.study.schema import StudyFile
from dse.yaml_source import Loc, Source

_EXAMPLES = {
    "study": "study: my-cluster",
    "workload": "workload: resnet50",
    "space": "space: {accelerator: [..], gpus: [..], ..}",
    "objectives": "objectives: {maximize: speedup, minimize: capital}",
    "maximize": "maximize: speedup",
    "minimize": "minimize: capital",
    "axis": "axis: ps_servers",
    "values": "values: [1, 2, 4]",
    "if": "if: {aggregation: ps-grpc}",
}
_WANTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
}


def checked(source: Source) -> StudyFile:
    """The file in the shape of a study, or the first complaint in the order of the file."""
    if not isinstance(source.data, dict):
        shown = Cursor(source).shown
        raise source.error((), f"a study is a mapping of keys, not {shown}", "start with study: ..")
    if "fleet" in source.data and "study" not in source.data:
        raise source.error(("fleet",), "this is a fleet study", "use dse fleet", key=True)
    kind = source.data.get("format")
    if isinstance(kind, str) and kind.startswith("dse-"):
        raise source.error(("format",), f"this is a file of '{kind}', no study", "name a study")
    try:
        return StudyFile.model_validate(source.data)
    except ValidationError as cause:
        errors = cause.errors(include_url=False, include_context=True)
    # What is misspelt is missing as well: then only the spelling is worth a word.
    errors = [error for error in errors if error["type"] != "missing"] or errors
    found = [_complaint(source, error) for error in errors]
    raise min(found, key=lambda error: (error.line, error.column))


def _complaint(source: Source, error: Any) -> StudyError:
    loc: Loc = tuple(error["loc"])
    kind, key = error["type"], str(loc[-1])
    if kind == "extra_forbidden":
        remedy = suggest(key, _known(loc[:-1]))
        return source.error(loc, f"unknown key '{clipped(key)}'", remedy, key=True)
    if kind == "missing":
        remedy = f"add {_EXAMPLES.get(key, key + ': ..')}"
        return source.error(loc[:-1], f"missing key '{key}'", remedy)
    cursor = Cursor(source, loc)
    label, shown = cursor.label, cursor.shown
    if kind == "literal_error":
        words = re.findall("'([^']+)'", error["ctx"]["expected"])
        text = str(cursor.value)
        return cursor.wrong(f"{label}: {shown} is not known", suggest(text, words))
    if kind in _WANTED:
        return cursor.wrong(f"{label}: {shown} is not {_WANTED[kind]}", f"write {_WANTED[kind]}")
    limits = error.get("ctx", {})
    bounds = [
        f"{word} {limits[name]}"
        for name, word in (("gt", "above"), ("ge", "at least"), ("lt", "below"), ("le", "at most"))
        if name in limits
    ]
    remedy = f"write a value {alternatives(bounds)}" if bounds else error["msg"]
    return cursor.wrong(f"{label}: {shown} is out of range", remedy)


def _known(loc: Loc) -> list[str]:
    """The keys that the mapping at ``loc`` may have."""
    model: type[BaseModel] = StudyFile
    for step in loc:
        if isinstance(step, str):
            fields = {field.alias or name: field for name, field in model.model_fields.items()}
            model = _model_in(fields[step].annotation) or model
    return [field.alias or name for name, field in model.model_fields.items()]


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := _model_in(part))), None)

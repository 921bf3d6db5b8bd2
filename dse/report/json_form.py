"""Dataclasses as JSON and back, checked: how the document of a run gets into its file.

Key by key, in the order of the fields. A type of which a field is marked :data:`INLINE` or
:data:`IF_ANY` is written ``Flat[...]`` where another has it. A file has long lists by column.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar

from dse.model.arrays import ArrayLike, scalar
from dse.units import all_significant

if TYPE_CHECKING:  # pydantic takes a while to import, and only files need it
    from pydantic import GetCoreSchemaHandler, TypeAdapter
    from pydantic_core import CoreSchema

T = TypeVar("T")

_ADAPTERS: dict[type[Any], TypeAdapter[Any]] = {}  # making one takes longer than writing a report

# Of a field: in JSON its entries are keys of the object that has it; None is not written.
INLINE: Mapping[str, bool] = {"inline": True}
IF_ANY: Mapping[str, bool] = {"if any": True}
# What was drawn a thousand times has no more digits than these; all else has twelve.
DRAWN: Mapping[str, int] = {"digits": 6}


def number(values: ArrayLike) -> float | None:
    """The number in an array of one; None where it is unknown or without bound, as in JSON."""
    found = scalar(values)
    return found if math.isfinite(found) else None


def parsed(kind: type[T], found: object) -> T:
    """The object of a kind that a file has as ``found``. Raises pydantic's ValidationError."""
    return _adapter(kind).validate_python(found)


def text(document: object) -> str:
    """The content of its file. Raises ValueError where a number is not finite."""
    return json.dumps(plain(document), indent=1, allow_nan=False)


def plain(document: object) -> dict[str, Any]:
    """The same in dicts, lists and scalars, as a program reads it from the file."""
    found: dict[str, Any] = all_significant(_adapter(type(document)).dump_python(document))
    return found


def by_column(rows: Sequence[Any]) -> Any:
    """A list in fewer words: ``of`` has its parts, ``at`` of which part each entry is, from 0.

    A part is a value that entries have alike, or the objects with the same keys as a list a key,
    itself in fewer words. A list of values that mostly differ is kept. :func:`by_row` reads it.
    """
    parts: dict[object, list[Any]] = {}
    kinds = [tuple(row) if isinstance(row, Mapping) else json.dumps(row) for row in rows]
    for kind, row in zip(kinds, rows, strict=True):
        parts.setdefault(kind, []).append(row)
    if 2 * len(parts) > len(rows) and not any(isinstance(row, Mapping) for row in rows):
        return rows
    of = [{key: by_column([row[key] for row in alike]) for key in alike[0]}
          if isinstance(alike[0], Mapping) else alike[0] for alike in parts.values()]  # fmt: skip
    place = {kind: part for part, kind in enumerate(parts)}
    return {"of": of, "at": [place[kind] for kind in kinds]}


def by_row(found: Any) -> list[Any]:
    """The list of which :func:`by_column` made ``found``."""
    if isinstance(found, list):
        return found
    counts, parts = Counter(found["at"]), []
    for part, value in enumerate(found["of"]):
        count = counts[part]
        if isinstance(value, Mapping):
            columns = {key: by_row(column) for key, column in value.items()}
            rows = [{key: column[row] for key, column in columns.items()} for row in range(count)]
        else:
            rows = [value] * count
        parts.append(iter(rows))
    return [next(parts[part]) for part in found["at"]]


def _adapter(kind: type[T]) -> TypeAdapter[T]:
    if kind not in _ADAPTERS:
        from pydantic import TypeAdapter

        marked: Any = Annotated[kind, _Marked()]
        _ADAPTERS[kind] = TypeAdapter(marked)
    return _ADAPTERS[kind]


class _Marked:
    """What tells pydantic of the marks of a dataclass's fields."""

    def __get_pydantic_core_schema__(self, kind: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        from pydantic_core import core_schema

        inline = [entry.name for entry in fields(kind) if "inline" in entry.metadata]
        if_any = [entry.name for entry in fields(kind) if "if any" in entry.metadata]
        digits = {entry.name: entry.metadata["digits"] for entry in fields(kind)
                  if "digits" in entry.metadata}  # fmt: skip
        own = {entry.name for entry in fields(kind)}

        def nested(found: Any) -> Any:
            if not inline or not isinstance(found, Mapping):
                return found
            rest = {key: value for key, value in found.items() if key not in own}
            numbers = {key: value for key, value in rest.items()
                       if value is None or isinstance(value, float | int)}  # fmt: skip
            return {**found, inline[0]: numbers}

        def flat(document: Any, handler: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
            found: dict[str, Any] = {}
            for key, value in handler(document).items():
                if key in inline:
                    found |= value
                elif key in digits:
                    found[key] = all_significant(value, digits[key])
                elif value is not None or key not in if_any:
                    found[key] = value
            return found

        plainly = handler(kind)
        return core_schema.no_info_before_validator_function(
            nested,
            plainly,
            serialization=core_schema.wrap_serializer_function_ser_schema(flat, schema=plainly),
        )


Flat: TypeAlias = Annotated[T, _Marked()]

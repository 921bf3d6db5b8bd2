"""Dataclasses as JSON and back, checked: how the document of a run gets into its file.

Key by key, in the order of the fields. A type of which a field is marked :data:`INLINE` or
:data:`IF_ANY` is written ``Flat[...]`` where another has it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar

from dse.model.arrays import ArrayLike, scalar
from dse.units import DIGITS, significant

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
# Objects of one list with the same source have it once, around those that are of it.
BY_SOURCE: Mapping[str, tuple[str, ...]] = {"by": ("source", "url", "accessed")}
_FACTS = "facts"


def number(values: ArrayLike) -> float | None:
    """The number in an array of one; None where it is unknown or without bound, as in JSON."""
    found = scalar(values)
    return found if math.isfinite(found) else None


def parsed(kind: type[T], found: object) -> T:
    """The object of a kind that a file has as ``found``. Raises pydantic's ValidationError."""
    return _adapter(kind).validate_python(found)


def text(document: object) -> str:
    """The content of its file. Raises ValueError where a number is not finite."""
    return json.dumps(_dumped(document), indent=1, allow_nan=False)


def plain(document: object) -> dict[str, Any]:
    """The same in dicts, lists and scalars, as a program reads it from the file."""
    found: dict[str, Any] = json.loads(json.dumps(_dumped(document), allow_nan=False))
    return found


def _dumped(document: object) -> object:
    return rounded(_adapter(type(document)).dump_python(document))


def rounded(value: Any, digits: int = DIGITS) -> Any:
    """The same with so many significant digits of every number that is not whole."""
    if isinstance(value, float):
        return significant(value, digits)
    if isinstance(value, Mapping):
        return {key: rounded(one, digits) for key, one in value.items()}
    return [rounded(one, digits) for one in value] if isinstance(value, list | tuple) else value


def _together(rows: Iterable[Mapping[str, Any]], by: Sequence[str]) -> list[dict[str, Any]]:
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        own = {key: value for key, value in row.items() if key not in by}
        groups.setdefault(tuple(row[key] for key in by), []).append(own)
    return [{**dict(zip(by, key, strict=True)), _FACTS: own} for key, own in groups.items()]


def _apart(groups: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [{**one, **{key: value for key, value in group.items() if key != _FACTS}}
            for group in groups for one in group[_FACTS]]  # fmt: skip


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
        by = {entry.name: entry.metadata["by"] for entry in fields(kind) if "by" in entry.metadata}
        own = {entry.name for entry in fields(kind)}

        def nested(found: Any) -> Any:
            if not isinstance(found, Mapping):
                return found
            found = {key: _apart(value) if key in by else value for key, value in found.items()}
            if not inline:
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
                elif key in by:
                    found[key] = _together(value, by[key])
                elif key in digits:
                    found[key] = rounded(value, digits[key])
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

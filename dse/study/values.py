"""Reading the values of one axis, and finding a value again by what the user calls it, in a file or
on the command line."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace

from dse.errors import StudyError
from dse.mistakes import Mistakes, Unread, each
from dse.spelling import PRODUCTS, alternatives, of_model, product
from dse.study.aliases import Spelling
from dse.study.axes import AUTO, AXES, MACHINES, NODE, AxisRow, axis_called, overlap_refused
from dse.study.cursor import Cursor, clipped
from dse.study.definition import Axis, Study, Value, Wire
from dse.study.links import Found, read_link, read_links
from dse.study.names import Names, suggest
from dse.study.numbers import read_number, read_numbers
from dse.text_source import is_path
from dse.yaml_source import parse_yaml

OPTION = "--set"  # of the command line
DESCRIBED = "accelerators"  # what a study may describe beside those of the catalogue, and its key
# What people call training in 16 bits, of which there are two.
_MIXED = ("mixed", "mixed-precision", "mixed_precision", "amp", "half")


def read_axis(spec: AxisRow, cursor: Cursor, names: Names) -> Axis:
    """All values of an axis, none of them twice."""
    if cursor.value is None or cursor.value in ([], {}):
        remedy = f"give at least one value, such as {spec.name}: {spec.example}"
        raise cursor.wrong(f"axis '{spec.name}' is empty", remedy, key=True)
    if spec.divisors and cursor.value == AUTO:
        return Axis(spec.name, (AUTO,), (AUTO,), True)
    if spec.kind == "link":
        found, span = read_links(cursor, names)
        if span is not None:
            wire = found[0][0]
            if not spec.continuous or not isinstance(wire, Wire):
                raise cursor.wrong(f"{spec.name} cannot be continuous", "list the bandwidths")
            return Axis(spec.name, (), (), True, *span, wire)
    elif spec.number is not None:
        numbers, span = read_numbers(cursor, spec.number, continuous=spec.continuous)
        if span is not None:
            return Axis(spec.name, (), (), True, *span)
        found = [*numbers]
    else:
        read = each(lambda place: read_value(spec, place, names), cursor.each())
        found = [(*value, place) for value, place in zip(read, cursor.each(), strict=True)]
    _no_twins(spec.name, found)
    values = tuple(value for value, _, _ in found)
    return Axis(spec.name, values, tuple(label for _, label, _ in found), _ordered(values))


def read_value(spec: AxisRow, cursor: Cursor, names: Names) -> tuple[Value, str]:
    """One value of an axis, and its label."""
    if isinstance(cursor.value, list):
        problem = f"{spec.name}: a list where one value should be"
        raise cursor.wrong(problem, "write one value")
    if spec.kind == "link":
        if isinstance(cursor.value, dict):
            found, span = read_links(cursor, names)
            if span is not None or len(found) > 1:
                raise cursor.wrong(f"{spec.name}: several links", "write one bandwidth")
            return found[0][:2]
        return read_link(cursor, names)
    if spec.number is not None:
        return read_number(cursor, spec.number), " ".join(str(cursor.value).split())
    if spec.kind == "aggregation":
        known = tuple(names.aggregations)
        remedy = f"write {alternatives(names.algorithms)}, then -, then "
        remedy += f"{alternatives(names.transports)}; or one of {', '.join(names.approaches)}"
        aliases = names.aliases.get(spec.names, {})
        name = names.aggregations[cursor.named("aggregation", known, remedy, aliases)]
        return name, name
    if spec.kind == "catalogue":
        listing = f"see `dse catalog {spec.names}`"
        if spec.names == DESCRIBED:
            listing += f", or describe it below {DESCRIBED}: (docs/study.md)"
        own = spec.name == NODE and isinstance(cursor.value, str) and is_path(cursor.value)
        word = existing(cursor) if own else read_name(
            cursor, spec.names, spec.name, names, listing
        )  # fmt: skip
    else:
        if spec.name == "precision" and str(cursor.value).strip().lower() in _MIXED:
            problem = f"precision: {cursor.shown} does not say which 16 bits"
            raise cursor.wrong(problem, "write fp16 or bf16: both keep fp32 weights beside them")
        word = _choice(spec, cursor)
    return word, word


def read_name(cursor: Cursor, kind: str, what: str, names: Names, otherwise: str) -> str:
    """A name of the catalogue, of a kind whose entries are called ``what``.

    No product is offered for another. otherwise: what to do where no name is near.
    """
    known, aliases = getattr(names, kind), names.aliases.get(kind, {})
    if kind in PRODUCTS:
        word = str(cursor.value)
        lacking = product(word, known, names.products)
        known = () if lacking else tuple(of_model(word, known))
        aliases = {name: aliases[name] for name in of_model(word, aliases) if not lacking}
        otherwise = lacking or otherwise
    return cursor.named(what, known, otherwise, aliases)


def _choice(spec: AxisRow, cursor: Cursor) -> str:
    """One of the words of an axis, of which some may look like numbers or true and false."""
    listing = f"use {alternatives(spec.choices)}"
    if isinstance(cursor.value, bool | int):
        word = str(cursor.value).lower()
        if word not in spec.choices:
            raise cursor.wrong(f"{cursor.label}: {cursor.shown}: no such {spec.name}", listing)
        return word
    return cursor.named(spec.name, spec.choices, listing)


def default_axis(name: str, default: str | int | None = None) -> Axis:
    """The single value an axis has where the study leaves it out; ``default`` or its usual one."""
    value = AXES[name].default if default is None else default
    assert value is not None, name
    return Axis(name, (25.0 * 2**20 if name == "bucket" else value,), (str(value),), True)


def find_value(axis: Axis, cursor: Cursor, names: Names) -> Value:
    """The value of the axis that ``cursor`` means; an error where the axis does not have it."""
    value, _ = _by_label(axis, cursor) or read_value(AXES[axis.name], cursor, names)
    if value not in axis.values:
        label = clipped(str(cursor.value))
        remedy = suggest(label, axis.labels, f"it has {', '.join(axis.labels[:12])}")
        raise cursor.wrong(f"axis '{axis.name}' does not have {cursor.shown}", remedy)
    return value


def any_value(axis: Axis | None, name: str, cursor: Cursor, names: Names) -> tuple[Value, str]:
    """A valid value of the axis, whether or not the axis lists it.

    A bandwidth the axis does not list takes latency and prices from the axis' links where they
    all agree.
    """
    known = _by_label(axis, cursor) if axis is not None else None
    if known is not None:
        return known
    value, label = read_value(AXES[name], cursor, names)
    if axis is None:
        return value, label
    if isinstance(value, Wire) and not isinstance(cursor.value, dict):
        wires = [axis.wire] if axis.wire else axis.values
        rest = {replace(w, bytes_per_s=1.0) if isinstance(w, Wire) else w for w in wires}
        shared = rest.pop()
        if not rest and isinstance(shared, Wire):
            value = replace(shared, label=label, bytes_per_s=value.bytes_per_s)
    return value, axis.label(value) if value in axis.values else label


def given_value(
    axis: Callable[[], Axis | None], name: str, cursor: Cursor, names: Names
) -> tuple[Value, str]:
    """The same of an axis that may be mistaken: then raises what is wrong with the value itself,
    or :class:`Unread`."""
    try:
        known = axis()
    except Unread:
        if AXES[name].kind != "link":  # whose labels are the axis' own
            read_value(AXES[name], cursor, names)
        raise
    return any_value(known, name, cursor, names)


def _by_label(axis: Axis, cursor: Cursor) -> tuple[Value, str] | None:
    text = " ".join(str(cursor.value).split())
    if text in axis.labels:
        return axis.values[axis.labels.index(text)], text
    return None


def _no_twins(name: str, found: Sequence[Found]) -> None:
    seen: dict[Value, str] = {}
    mistakes = Mistakes()
    for value, label, place in found:
        if value in seen:
            same = "" if seen[value] == label else f", the same as '{seen[value]}'"
            problem = f"{name}: duplicate value '{label}'{same}"
            mistakes.note(place.wrong(problem, "leave one of them out"))
        seen.setdefault(value, label)
    mistakes.told()


def _ordered(values: Sequence[Value]) -> bool:
    """Whether the values are numbers, or links by bandwidth, that only rise or only fall."""
    sizes = [value.bytes_per_s if isinstance(value, Wire) else value for value in values]
    numbers = [size for size in sizes if not isinstance(size, (str, Wire))]
    if len(numbers) < len(sizes):
        return False
    return numbers == sorted(numbers) or numbers == sorted(numbers, reverse=True)


def assigned(study: Study, text: str, names: Names) -> tuple[str, Value]:
    """The axis and its value, by a label of the study's axis or as a study file would write it.

    Raises :class:`StudyError` for anything that is not ``axis=value``.
    """
    axis, equals, written = (part.strip() for part in text.partition("="))
    if not equals or not written:
        raise StudyError(OPTION, 0, 0, f"'{text}' is not axis=value", "write --set gpus=64")
    axis = axis_called(axis)
    return axis, value_of(study, axis, written, names, OPTION)


def value_of(study: Study, axis: str, written: str, names: Names, place: str) -> Value:
    """The value of an axis, by a label of the study's axis or as a study file would write it.

    place: where it was given, for errors. Raises :class:`StudyError` for one that cannot be.
    """
    check_name(study, axis, place)
    known = study.axis(axis)
    if known is not None and written in known.labels:
        return known.values[known.labels.index(written)]
    try:
        spelling, source = Spelling(names), parse_yaml(f"{axis}: {written}\n", place)
        spelling.read_axes((), source.data)
        value = any_value(known, axis, Cursor(spelling.applied(source), (axis,)), names)[0]
    except StudyError as cause:  # there is no line to speak of
        raise StudyError(place, 0, 0, cause.problem, cause.remedy) from None
    refused = overlap_refused(study.model, value) if axis == "overlap" else None
    if refused:
        raise StudyError(place, 0, 0, *refused)
    return value


def check_name(study: Study, axis: str, place: str) -> None:
    """Raise :class:`StudyError` for an axis that there is not, or that the study cannot have."""
    if axis not in AXES:
        raise StudyError(place, 0, 0, f"no axis '{axis}'", suggest(axis, tuple(AXES)))
    if axis in MACHINES and study.axis(axis) is None:
        other = "node" if axis == "accelerator" else "accelerator"
        raise StudyError(place, 0, 0, f"this study chooses by {other}", f"give {other}")


def existing(cursor: Cursor) -> str:
    """The path of a file; in a study it counts from the study's folder."""
    text = cursor.text("a path")
    path = os.path.join(os.path.dirname(cursor.source.path), text)
    if "\0" not in path and os.path.isdir(path):
        problem = f"{cursor.label}: '{clipped(text)}' is a folder"
        raise cursor.wrong(problem, "name a file in it")
    if "\0" in path or not os.path.isfile(path):
        folder = os.path.dirname(path) or "."
        there = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
        if text == "unknown":
            raise cursor.wrong(f"{cursor.label}: no file 'unknown'", f"leave {cursor.label} out")
        near = suggest(os.path.basename(path), there, "paths are relative to the study's folder")
        raise cursor.wrong(f"{cursor.label}: no file '{clipped(text)}'", near)
    return path

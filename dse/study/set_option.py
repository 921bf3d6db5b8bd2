"""``axis=value`` of the command line -> a value of that axis."""

from __future__ import annotations

from dse.errors import StudyError
from dse.study.aliases import Spelling
from dse.study.axes import AXES, MACHINES, axis_called, overlap_refused
from dse.study.cursor import Cursor
from dse.study.definition import Study, Value
from dse.study.names import Names, suggest
from dse.study.values import any_value
from dse.yaml_source import parse_yaml

OPTION = "--set"


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

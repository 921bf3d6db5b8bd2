"""Parts of a study that may be a name, a path, or written out: workload, prices, calibration."""

from __future__ import annotations

import os
from collections.abc import Mapping

from dse.mistakes import Mistakes, Part, each
from dse.study.cursor import Cursor, clipped
from dse.study.definition import GivenPrices, InlineWorkload
from dse.study.names import Names, suggest

_FILE_ENDINGS = (".yaml", ".yml", ".json", ".csv")
_WORKLOAD = ("params", "forward_flops", "activation_bytes", "input_bytes")
_LARGEST = 1e24  # parameters, operations, bytes of one network


def is_path(text: str) -> bool:
    """Whether a name is meant as the path of a file."""
    return "/" in text or text.endswith(_FILE_ENDINGS)


def read_workload(cursor: Cursor, names: Names) -> str | InlineWorkload:
    """The workload: a known name, a path that counts from the working folder, or its numbers."""
    if isinstance(cursor.value, str) and is_path(cursor.value):
        return _existing(cursor)
    if not isinstance(cursor.value, dict):
        aliases = names.aliases.get("workloads", {})
        return cursor.named("workload", names.workloads, "see `dse catalog workloads`", aliases)
    mistakes = Mistakes()
    cursor = cursor.keys((*_WORKLOAD, "name", "layers"), _WORKLOAD, mistakes)

    def number(key: str, dimension: str, zero: bool = False) -> Part[float]:
        return mistakes.part(lambda: cursor.at(key).quantity(dimension, _LARGEST, zero=zero))

    name = mistakes.part(lambda: cursor.at("name").text() if cursor.has("name") else "inline")
    params, flops = number("params", "count"), number("forward_flops", "count")
    activations = number("activation_bytes", "bytes", zero=True)
    samples = number("input_bytes", "bytes", zero=True)
    layers = mistakes.part(lambda: _existing(cursor.at("layers")) if cursor.has("layers") else None)
    mistakes.told()
    return InlineWorkload(name(), params(), flops(), activations(), samples(), layers())


def read_quality(cursor: Cursor) -> str:
    """A quality target: its name, or the path of a file from the working folder."""
    name = cursor.text("mlperf-bert, or another of `dse catalog convergence`")
    return _existing(cursor) if is_path(name) else name


def read_calibration(
    cursor: Cursor, names: Names
) -> tuple[tuple[str, ...], Mapping[str, frozenset[str]]]:
    """Names of profiles as they are, paths from the working folder; and of each the fabrics that it
    is for alone, where the study says so: ``{ib-hdr: mine, 200gbe: vendor-b}``."""
    if not isinstance(cursor.value, dict):
        return read_profiles(cursor), {}
    mistakes = Mistakes()
    cursor = cursor.keys(names.fabrics, (), mistakes)
    of_fabrics = mistakes.by_key(lambda fabric: read_profiles(cursor.at(fabric)), cursor.given())
    mistakes.told()
    fabrics: dict[str, frozenset[str]] = {}
    for fabric, profiles in of_fabrics.items():
        for profile in profiles():
            fabrics[profile] = fabrics.get(profile, frozenset()) | {fabric}
    return tuple(fabrics), fabrics


def read_profiles(cursor: Cursor) -> tuple[str, ...]:
    """Names of profiles as they are, paths from the working folder."""
    found: list[str] = []

    def profile(place: Cursor) -> str:
        word = place.text("the name or path of a calibration profile")
        path = _existing(place) if is_path(word) else word
        if path in found:
            raise place.wrong(f"calibration: duplicate '{clipped(word)}'", "leave one of them out")
        found.append(path)
        return path

    return each(profile, cursor.each())


def read_prices(cursor: Cursor) -> tuple[GivenPrices, ...]:
    """The paths of price lists, and the places of those written out in the study, in order."""
    return each(
        lambda place: place.loc if isinstance(place.value, dict) else _existing(place),
        cursor.each(),
    )


def _existing(cursor: Cursor) -> str:
    """A path in the study counts from the study's folder."""
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

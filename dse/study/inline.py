"""Parts of a study that may be a name, a path, or written out: workload, prices, calibration."""

from __future__ import annotations

import os
from collections.abc import Mapping

from dse.study.cursor import Cursor, clipped
from dse.study.definition import ConfiguredWorkload, GivenPrices, InlineWorkload
from dse.study.names import Names, suggest

_FILE_ENDINGS = (".yaml", ".yml", ".json", ".csv")
_REQUIRED = ("params", "forward_flops", "activation_bytes")
_WORKLOAD = (*_REQUIRED, "input_bytes", "gradient_tensors", "layers", "name")
_UNKNOWN = "unknown"
_MOST_TENSORS = 10_000
_MOST_TOKENS = 10**7  # of a sample
_TENSORS_TOLERANCE = 1e-3  # relative difference between params and the tensors' sum
_LARGEST = 1e24  # parameters, operations, bytes of one network


def is_path(text: str) -> bool:
    """Whether a name is meant as the path of a file."""
    return "/" in text or text.endswith(_FILE_ENDINGS)


def read_workload(cursor: Cursor, names: Names) -> str | InlineWorkload | ConfiguredWorkload:
    """The workload: a known name, a path that counts from the working folder, or its numbers."""
    if isinstance(cursor.value, str) and is_path(cursor.value):
        return _existing(cursor)
    if not isinstance(cursor.value, dict):
        return cursor.named("workload", names.workloads, "see `dse catalog workloads`")
    if cursor.has("config"):
        keys = cursor.keys(("config", "sequence"))
        sequence = cursor.at("sequence").whole(1, _MOST_TOKENS) if "sequence" in keys else None
        return ConfiguredWorkload(_existing(cursor.at("config")), sequence)
    keys = cursor.keys(_WORKLOAD, _REQUIRED)
    if "gradient_tensors" in keys and "layers" in keys:
        problem = "workload: gradient_tensors beside layers, which tell them"
        raise cursor.at("gradient_tensors").wrong(problem, "keep one of the two", key=True)
    params = cursor.at("params").quantity("count", _LARGEST)
    return InlineWorkload(
        name=cursor.at("name").text() if "name" in keys else "own-model",
        params=params,
        forward_flops=cursor.at("forward_flops").quantity("count", _LARGEST),
        activation_bytes=_bytes(cursor, "activation_bytes"),
        input_bytes=_bytes(cursor, "input_bytes") if "input_bytes" in keys else None,
        layers=_existing(cursor.at("layers")) if "layers" in keys else None,
        gradient_tensors=(
            _tensors(cursor.at("gradient_tensors"), params) if "gradient_tensors" in keys else None
        ),
    )


def _bytes(cursor: Cursor, key: str) -> float | None:
    """A number of bytes; None for ``unknown``."""
    at = cursor.at(key)
    return None if at.value == _UNKNOWN else at.quantity("bytes", _LARGEST, zero=True)


def _tensors(at: Cursor, params: float) -> int | tuple[float, ...]:
    """How many gradient tensors, or the elements of each, which must add up to ``params``."""
    if not isinstance(at.value, list):
        return at.whole(1, _MOST_TENSORS)
    if not 1 <= len(at.value) <= _MOST_TENSORS:
        problem = f"gradient_tensors: {len(at.value)} tensors"
        raise at.wrong(problem, f"write 1 to {_MOST_TENSORS}, or how many there are")
    found = tuple(place.quantity("count", _LARGEST) for place in at.each())
    if abs(sum(found) - params) > _TENSORS_TOLERANCE * params:
        problem = f"gradient_tensors: they add up to {sum(found):.6g}, and params is {params:.6g}"
        raise at.wrong(problem, "write the elements of every tensor, or how many there are")
    return found


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
    fabrics: dict[str, frozenset[str]] = {}
    for fabric in cursor.keys(names.fabrics):
        for profile in read_profiles(cursor.at(fabric)):
            fabrics[profile] = fabrics.get(profile, frozenset()) | {fabric}
    return tuple(fabrics), fabrics


def read_profiles(cursor: Cursor) -> tuple[str, ...]:
    """Names of profiles as they are, paths from the working folder."""
    found: list[str] = []
    for place in cursor.each():
        word = place.text("the name or path of a calibration profile")
        path = _existing(place) if is_path(word) else word
        if path in found:
            raise place.wrong(f"calibration: duplicate '{clipped(word)}'", "leave one of them out")
        found.append(path)
    return tuple(found)


def read_prices(cursor: Cursor) -> tuple[GivenPrices, ...]:
    """The paths of price lists, and the places of those written out in the study, in order."""
    return tuple(
        place.loc if isinstance(place.value, dict) else _existing(place) for place in cursor.each()
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
        near = suggest(os.path.basename(path), there, "paths are relative to the study's folder")
        raise cursor.wrong(f"{cursor.label}: no file '{clipped(text)}'", near)
    return path

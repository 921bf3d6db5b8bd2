"""Parts of a study that may be a name, a path, or written out: workload, prices, calibration."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from dse.mistakes import Mistakes, Part, each
from dse.spelling import same
from dse.study.cursor import FOLDER, Cursor, clipped
from dse.study.definition import ConfiguredWorkload, GivenPrices, InlineWorkload
from dse.study.names import Names
from dse.study.values import DESCRIBED, existing, read_name
from dse.text_source import is_path
from dse.yaml_source import Source

T = TypeVar("T")
U = TypeVar("U")
_REQUIRED = ("params", "forward_flops", "activation_bytes")
_WORKLOAD = (*_REQUIRED, "input_bytes", "gradient_tensors", "layers", "name")
_UNKNOWN = "unknown"
_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+(?<!.yaml|.json)")  # of Hugging Face
_MOST_TENSORS = 10_000
_MOST_TOKENS = 10**7  # of a sample
_TENSORS_TOLERANCE = 1e-3  # relative difference between params and the tensors' sum
_LARGEST = 1e24  # parameters, operations, bytes of one network


def read_workload(cursor: Cursor, names: Names) -> str | InlineWorkload | ConfiguredWorkload:
    """The workload: a known name, a path that counts from the working folder, or its numbers."""
    if not isinstance(cursor.value, dict):
        return _named_workload(cursor, names)
    return _configured(cursor, names) if cursor.has("config") else _inline(cursor)


def _named_workload(cursor: Cursor, names: Names) -> str:
    """A name of the catalogue, or the path of a file."""
    word = cursor.value
    if not isinstance(word, str) or not is_path(word):
        return read_name(cursor, "workloads", "workload", names, "see `dse catalog workloads`")
    path = os.path.join(os.path.dirname(cursor.source.path), word)
    if _REPOSITORY.fullmatch(word) and not os.path.exists(path):
        problem = f"workload: '{clipped(word)}' is no file, and no repository that is known here"
        raise cursor.wrong(problem, "save its config.json, and give the path of that")
    return existing(cursor)


def _configured(cursor: Cursor, names: Names) -> ConfiguredWorkload:
    mistakes = Mistakes()
    cursor = cursor.keys(("config", "sequence"), (), mistakes)
    config = mistakes.part(lambda: _named_workload(cursor.at("config"), names))
    sequence = mistakes.part(
        lambda: cursor.optional("sequence", lambda at: at.whole(1, _MOST_TOKENS), None)
    )
    mistakes.told()
    return ConfiguredWorkload(config(), sequence())


def _inline(cursor: Cursor) -> InlineWorkload:
    mistakes = Mistakes()
    cursor = cursor.keys(_WORKLOAD, _REQUIRED, mistakes)

    def given(key: str, read: Callable[[Cursor], T], default: U) -> Part[T | U]:
        return mistakes.part(lambda: cursor.optional(key, read, default))

    def count(at: Cursor) -> float:
        return at.quantity("count", _LARGEST)

    def tensors(at: Cursor) -> int | tuple[float, ...]:
        if cursor.has("layers"):
            problem = "workload: gradient_tensors beside layers, which tell them"
            raise at.wrong(problem, "keep one of the two", key=True)
        return _tensors(at, params())

    name = given("name", lambda at: at.text(), "own-model")
    params = mistakes.part(lambda: count(cursor.at("params")))
    flops = mistakes.part(lambda: count(cursor.at("forward_flops")))
    activations = mistakes.part(lambda: _bytes(cursor.at("activation_bytes")))
    samples = given("input_bytes", _bytes, None)
    layers = given("layers", existing, None)
    gradients = given("gradient_tensors", tensors, None)
    mistakes.told()
    return InlineWorkload(
        name=name(), params=params(), forward_flops=flops(), activation_bytes=activations(),
        input_bytes=samples(), layers=layers(), gradient_tensors=gradients(),
    )  # fmt: skip


def _bytes(at: Cursor) -> float | None:
    """A number of bytes; None for ``unknown``."""
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
    return existing(cursor) if is_path(name) else name


def read_calibration(
    cursor: Cursor, names: Names
) -> tuple[tuple[str, ...], Mapping[str, frozenset[str]]]:
    """Names of profiles as they are, paths from the working folder; and of each the fabrics or node
    types that it is for alone, where the study says so: ``{ib-hdr: mine, vendor-b.yaml: b}``."""
    if not isinstance(cursor.value, dict):
        return read_profiles(cursor), {}
    offers = [key for key in cursor.value if is_path(key)]
    known = (*names.fabrics, *names.nodes, *offers)
    of_fabrics = cursor.each_key(known, lambda _, place: read_profiles(place))
    fabrics: dict[str, frozenset[str]] = {}
    for fabric, profiles in of_fabrics.items():
        if fabric in offers:
            fabric = os.path.join(os.path.dirname(cursor.source.path), fabric)
        for profile in profiles:
            fabrics[profile] = fabrics.get(profile, frozenset()) | {fabric}
    return tuple(fabrics), fabrics


def read_profiles(cursor: Cursor) -> tuple[str, ...]:
    """Names of profiles as they are, paths from the working folder."""
    found: list[str] = []

    def profile(place: Cursor) -> str:
        word = place.text("the name or path of a calibration profile")
        path = existing(place) if is_path(word) else word
        if path in found:
            raise place.wrong(f"calibration: duplicate '{clipped(word)}'", "leave one of them out")
        found.append(path)
        return path

    return each(profile, cursor.each())


_NEEDED = ["memory", "memory_bandwidth", "host_link", "peak"]
_DESCRIPTION = (*_NEEDED, "intra_node_bandwidth", "pair_bandwidth", "tdp", "compute_capability",
                "units", "generation", "title", "notes")  # fmt: skip
ACCELERATORS_SCHEMA: dict[str, Any] = {"type": "object", "additionalProperties": {
    "type": "object", "additionalProperties": False, "required": _NEEDED,
    "properties": {key: {} for key in _DESCRIPTION},
}}  # fmt: skip


def with_described(source: Source, names: Names) -> Names:
    """What a study may name: what the catalogue knows, and the accelerators that it describes. Of
    these their names are checked, which must not be those of others."""
    given = source.data.get(DESCRIBED) if isinstance(source.data, dict) else None
    own = [*given] if isinstance(given, dict) else []
    taken = {*map(same, names.accelerators), *names.aliases.get(DESCRIBED, {})}
    for name in own:
        if not FOLDER.fullmatch(name) or same(name) in taken:
            problem = f"{DESCRIBED}: '{clipped(name)}' is no name, or that of another"
            remedy = "choose one of letters, digits, '-', '_' and '.', such as my-gpu"
            raise source.error((DESCRIBED, name), problem, remedy, key=True)
    return replace(names, accelerators=(*names.accelerators, *own))


def read_prices(cursor: Cursor) -> tuple[GivenPrices, ...]:
    """The paths of price lists, and the places of those written out in the study, in order."""
    return each(
        lambda place: place.loc if isinstance(place.value, dict) else existing(place),
        cursor.each(),
    )

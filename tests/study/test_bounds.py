"""A number below the least that it may be is refused, and told the very bound that is enforced."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dse import units
from dse.catalog import read_prices
from dse.catalog.prices import GENERAL
from dse.errors import StudyError
from dse.pricing.load import known_names
from dse.study import AXES, read_study
from dse.study.axes import MICRO_BATCH
from dse.study.schema import study_schema
from dse.study.terms import FAILURES, RENTING
from dse.yaml_source import parse_yaml

from .conftest import NAMES, VALID

SCHEMA = study_schema(known_names())
BOUND = re.compile(r"(at least|above|from) (-?\d[\d.e+-]*\b)")


def _counts(schema: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The keys that lead to each number of the schema that has a least value."""
    if "$ref" in schema:
        yield from _counts(SCHEMA["$defs"][schema["$ref"].rsplit("/", 1)[1]], path)
    if {"minimum", "exclusiveMinimum"} & schema.keys():
        yield path
    for key, part in schema.get("properties", {}).items():
        yield from _counts(part, (*path, key))
    for part in (*schema.get("anyOf", ()), *([schema["items"]] if "items" in schema else ())):
        yield from _counts(part, path)


def _again(path: tuple[str, ...]) -> bool:
    """Whether it is an axis that is tried below another key: beside the space, or by a name of its
    own."""
    return path[-1] == MICRO_BATCH or path[0] in AXES


# By the keys that lead to a number, its unit.
NUMBERS: dict[tuple[str, ...], str] = {
    **dict.fromkeys((path for path in _counts(SCHEMA) if not _again(path)), ""),
    **{("space", name): units.DIMENSIONS[axis.number.dimension][0]
       for name, axis in AXES.items() if axis.number},
    **{("rental", key): units.DIMENSIONS[row.dimension][0] for key, row in RENTING.items()},
    **{("failures", key): units.DIMENSIONS[row.dimension][0] for key, row in FAILURES.items()},
    **{("target", key): "" for key in ("samples", "epochs", "tokens")},
    ("rental", "discount"): "", ("ownership", "residual_value"): "",
    ("ownership", "utilisation"): "",
}  # fmt: skip


def _refusal(path: tuple[str, ...], value: object, folder: Path) -> str:
    """What a study with this value says of it; '' where nothing is wrong with it."""
    data: Any = parse_yaml(VALID, "f").data
    *sections, key = path
    if sections in (["target"], ["owned"], ["baseline"]):
        data[sections[0]] = {}
    if sections == ["owned"]:
        machines = {"hosts": {}, "nodes": {"node": "dgx-h100"}}.get(
            key, {"accelerator": "v100-sxm2-16gb", "gpus": 8, "inter_node": "10gbe"}
        )
        data["owned"] = dict(machines)
        if key == "nodes":
            data["space"].pop("accelerator")
            data["space"].pop("gpus_per_node")
            data["space"]["node"] = ["dgx-h100"]
    part = data
    for section in sections:
        part = part.setdefault(section, {})
    part[key] = value
    if path[-1] in ("spell", "wait"):
        part["term"] = "spot"
    if path[-1] == "epochs":
        part["epoch_samples"] = 1e6
    file = folder / "study.yaml"
    file.write_text(json.dumps(data))
    try:
        read_study(file, NAMES)
    except StudyError as wrong:
        lines = [line for line in str(wrong).splitlines() if f"{key}: " in line]
        return lines[0] if lines else ""
    return ""


def _written(number: float, unit: str) -> object:
    if unit:
        return f"{number:.12g} {unit}"
    return int(number) if float(number).is_integer() else number


@pytest.mark.parametrize("path", NUMBERS, ids=".".join)
def test_the_least_that_a_study_is_told_is_the_least_it_may_write(
    path: tuple[str, ...], tmp_path: Path
) -> None:
    unit = NUMBERS[path]
    told = _refusal(path, _written(-1, unit), tmp_path)
    bound = BOUND.search(told)
    assert bound, told
    least = float(bound[2])
    below = _refusal(path, _written(least - max(1.0, least), unit), tmp_path)
    assert bound[0] in below
    at_bound = _refusal(path, _written(least, unit), tmp_path)
    assert (bound[0] in at_bound) == (bound[1] == "above"), at_bound


@pytest.mark.parametrize("key", GENERAL)
def test_the_least_that_a_price_list_is_told_is_the_least_it_may_write(
    key: str, tmp_path: Path
) -> None:
    unit = units.DIMENSIONS[GENERAL[key][1]][0]
    file = tmp_path / "offer.yaml"

    def refusal(number: float) -> str:
        file.write_text(f"{key}: {_written(number, unit)}\n")
        try:
            read_prices(file)
        except StudyError as wrong:
            return str(wrong)
        return ""

    bound = BOUND.search(told := refusal(-1.2))
    assert bound, told
    least = float(bound[2])
    assert refusal(least) == ""
    assert bound[0] in refusal(0.999 * least if least else -1e-9)

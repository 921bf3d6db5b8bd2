"""The schema for editors, the documentation page and the reader tell the same story."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from dse import units
from dse.pricing.load import known_names
from dse.spelling import alternatives
from dse.study import AXES, QUANTITIES
from dse.study.axes import MICRO_BATCH
from dse.study.names import suggest
from dse.study.schema import BaselinePoint, Space, StudyFile, study_schema
from dse.study.values import default_axis
from dse.yaml_source import parse_yaml

from .conftest import NAMES, VALID, Reader

PAGE = Path(__file__).parents[2] / "docs" / "study.md"


def test_schema_describes_every_axis() -> None:
    schema = study_schema(known_names())
    json.dumps(schema)
    assert set(schema["$defs"]["Space"]["properties"]) == {*AXES, MICRO_BATCH}
    assert set(schema["properties"]) == {*StudyFile.model_fields, *AXES, MICRO_BATCH}
    for found in schema["$defs"]["Space"]["properties"].values():
        assert found["description"]
    assert set(Space.model_fields) == set(BaselinePoint.model_fields) == set(AXES)
    assert schema["required"] == ["study", "space", "objectives"]
    assert schema["oneOf"] == [{"required": ["workload"]}, {"required": ["mix"]}]


@pytest.mark.parametrize(
    "text",
    [
        VALID,
        VALID.replace("minimize: capital", "minimize: [capital, power]"),
        re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.S)[0],
    ],
)
def test_schema_accepts_what_the_reader_accepts(text: str, read: Reader) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    data: Any = parse_yaml(text, "f").data
    jsonschema.validate(data, study_schema(known_names()))
    assert read(text=text).name == data["study"]


def _broken() -> list[tuple[str, str]]:
    return [
        ("objectives:", "objetives:"),
        ("fp16", "fp12"),
        ("gpus_per_node", "gpu_per_node"),
        ("latency:", "latenci:"),
        ("maximize: speedup", "maximize: capital"),
        ("minimize: capital", "minimize: [capital, power, tco]"),
        ("minimize: capital", "minimize: [capital, capital]"),
        ("budget: 20000", "budget: 0"),
        ("[1, 4, 8]", "[]"),
        ("[1, 4, 8]", "[0]"),
        ("axis: ps", "axes: ps"),
    ]


@pytest.mark.parametrize(("old", "new"), _broken())
def test_schema_refuses_what_the_reader_refuses(old: str, new: str) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    data: Any = parse_yaml(VALID.replace(old, new, 1), "f").data
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, study_schema(known_names()))


def test_defaults_are_valid_values() -> None:
    for name, spec in AXES.items():
        if spec.default is None:
            continue
        (value,) = default_axis(name).values
        if spec.choices:
            assert value in spec.choices
        elif isinstance(spec.default, str):
            assert spec.number is not None
            assert value == units.parse(spec.default, spec.number.dimension)


def test_page_names_every_key_axis_and_quantity() -> None:
    page = PAGE.read_text(encoding="utf-8")
    keys = {field.alias or name for name, field in StudyFile.model_fields.items()}
    for name in (*keys, *AXES, *QUANTITIES):
        assert f"`{name}`" in page, name
    for spec in AXES.values():
        for choice in spec.choices if spec.kind == "choice" else ():
            assert f"`{choice}`" in page, choice
    names = known_names()
    for word in (*names.algorithms, *names.transports, *names.approaches):
        assert f"`{word}`" in page, word
    for name, quantity in QUANTITIES.items():
        if quantity.objective:
            assert re.search(rf"\| `{name}` \| [^|]*\({quantity.objective[:3]}\)", page), name


def test_no_far_fetched_suggestion() -> None:
    assert suggest("zzz", NAMES.workloads) == f"use {alternatives(NAMES.workloads)}"
    assert suggest("zzz", NAMES.workloads, "look there") == "look there"
    assert suggest("x" * 10_000, NAMES.workloads, "look there") == "look there"
    assert suggest("zzz", [str(n) for n in range(100)]).startswith("see `dse catalog`")

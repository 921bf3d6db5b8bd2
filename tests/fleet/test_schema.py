"""The schema for editors and the reader tell the same story."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import jsonschema
import pytest

from dse.catalog.store import shipped_studies
from dse.errors import StudyError
from dse.fleet.reader import read_fleet
from dse.fleet.recipe import HARDWARE
from dse.fleet.schema import FleetFile, HardwareFile, MoneyFile, Target, UpgradeFile, fleet_schema
from dse.fleet.upgrades import FIELDS
from dse.model.pai import ALLREDUCE_CLUSTER, ALLREDUCE_LOCAL, PEARL
from dse.text_source import is_fleet
from dse.yaml_source import parse_yaml
from tests.fleet.small import STUDY, written

ROOT = Path(__file__).parents[2]
SHIPPED = [path for path in shipped_studies().values() if is_fleet(path)]
MORE = """\
seed: 0
overlap: ideal
description: all keys
"""


def fits(text: str) -> None:
    jsonschema.validate(parse_yaml(text, "f").data, fleet_schema())


def test_it_is_a_schema_with_every_key_explained() -> None:
    schema = fleet_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert tuple(schema["properties"]) == tuple(FleetFile.model_fields)
    inner = {name: schema["$defs"][name]["properties"] for name in ("HardwareFile", "MoneyFile")}
    assert tuple(inner["MoneyFile"]) == tuple(MoneyFile.model_fields)
    assert tuple(inner["HardwareFile"]) == tuple(HardwareFile.model_fields)
    upgrade, _ = schema["properties"]["upgrades"]["anyOf"]
    for properties in (schema["properties"], upgrade["properties"], *inner.values()):
        assert all(one["description"] for one in properties.values())


def test_its_words_are_those_of_the_model() -> None:
    assert set(HardwareFile.model_fields) == {*HARDWARE, "node", "shared_pcie", "gpu_memory"}
    assert set(UpgradeFile.model_fields) == {*FIELDS, "name", "price_per_gpu"}
    assert get_args(Target) == (ALLREDUCE_LOCAL, ALLREDUCE_CLUSTER, PEARL)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_shipped_fleets_fit_the_schema_and_name_it(path: Path) -> None:
    text = path.read_text()
    fits(text)
    assert text.startswith("# yaml-language-server: $schema=../../docs/fleet.schema.json\n")


def test_what_the_reader_accepts_fits(tmp_path: Path) -> None:
    fits(STUDY)
    assert read_fleet(written(tmp_path)).name == "small"
    drawn = f"fleet: mine\npopulation: pai-fleet\njobs: 1e5\n{MORE}"
    fits(drawn)
    assert read_fleet(written(tmp_path, drawn)).overlapped


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("upgrades:", "upgrade:"),
        ("nvlink", "nvlnk"),
        ("allreduce-local", "allreduce"),
        ("busy:", "bussy:"),
        ("gpus: 100,", ""),
        ("fleet: small\n", ""),
        ("price_per_gpu", "price"),
        ("[allreduce-local, pearl]", "[]"),
        ("[100gbe, 40 Gbps]", "[]"),
        ("gpus_per_server: 8", "gpus_per_server: 8\n  shared_pcie: 1"),
        ("fleet: small", "fleet: small\noverlap: half"),
    ],
)
def test_what_the_reader_refuses_does_not_fit(old: str, new: str, tmp_path: Path) -> None:
    text = STUDY.replace(old, new, 1)
    assert text != STUDY
    with pytest.raises(jsonschema.ValidationError):
        fits(text)
    with pytest.raises(StudyError):
        read_fleet(written(tmp_path, text))

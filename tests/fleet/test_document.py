"""The document of a fleet: written to fleet.json and read back, the same."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dse.fleet import answer, from_plain, plain, read_fleet
from dse.fleet.document import FleetDocument
from tests.fleet.small import written


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> FleetDocument:
    path = written(tmp_path_factory.mktemp("fleet"))
    return answer(read_fleet(path), command="dse fleet", versions={"dse": "0"})


def test_what_is_read_back_is_what_was_written(document: FleetDocument) -> None:
    text = json.dumps(plain(document), allow_nan=False)
    again = from_plain(json.loads(text))
    assert again == document
    assert json.dumps(plain(again)) == text


def test_a_value_of_another_kind_is_named_with_its_place(document: FleetDocument) -> None:
    found: dict[str, Any] = plain(document)
    found["classes"][1]["jobs"] = "many"
    with pytest.raises(ValueError, match=r"^classes\.1\.jobs: input should be a valid integer"):
        from_plain(found)

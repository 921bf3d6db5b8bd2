"""The document of a fleet: written to fleet.json and read back, the same."""

from __future__ import annotations

import json
from pathlib import Path

from dse.fleet import answer, from_plain, plain, read_fleet
from tests.fleet.small import written


def test_what_is_read_back_is_what_was_written(tmp_path: Path) -> None:
    document = answer(read_fleet(written(tmp_path)), command="dse fleet", versions={"dse": "0"})
    text = json.dumps(plain(document), allow_nan=False)
    again = from_plain(json.loads(text))
    assert again == document
    assert json.dumps(plain(again)) == text

"""The document of a fleet: written to fleet.json and read back, the same."""

from __future__ import annotations

import json
import re
from pathlib import Path

from dse.fleet import answer, from_plain, plain, read_fleet
from tests.fleet.small import written


def test_what_is_read_back_is_what_was_written(tmp_path: Path) -> None:
    document = answer(read_fleet(written(tmp_path)), command="dse fleet", versions={"dse": "0"})
    text = json.dumps(plain(document), allow_nan=False)
    assert json.dumps(plain(from_plain(json.loads(text)))) == text
    digits = [number.replace(".", "").strip("0") for number in re.findall(r"\d+\.\d+", text)]
    assert max(map(len, digits)) == 12  # the last of a double's differ between CPUs

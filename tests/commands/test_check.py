"""What `dse check` says of a study."""

from __future__ import annotations

import json
from pathlib import Path

from tests.commands.command import dse, files
from tests.pricing.studies import written


def test_check_says_the_size_and_writes_nothing(tmp_path: Path) -> None:
    written(tmp_path)
    done = dse("check", "study.yaml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "2,304 points" in done.stdout
    assert "exhaustive" in done.stdout
    assert json.loads(dse("check", "study.yaml", "--json", cwd=tmp_path).stdout)["points"] == 2304
    assert list(files(tmp_path)) == ["study.yaml"]

"""What `dse catalog` shows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.commands.command import dse


@pytest.mark.parametrize("kind", ["accelerators", "fabrics", "nodes", "workloads"])
def test_the_catalogue_is_shown(kind: str, tmp_path: Path) -> None:
    listed = json.loads(dse("catalog", kind, "--json", cwd=tmp_path).stdout)
    assert len(listed) >= 20
    done = dse("catalog", kind, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) > 20


def test_an_entry_is_shown_with_units_and_sources(tmp_path: Path) -> None:
    done = dse("catalog", "accelerators", "h100-sxm", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for words in ("80 GB", "TB/s", "USD", "http", "20"):
        assert words in done.stdout

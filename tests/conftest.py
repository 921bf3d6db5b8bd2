"""How tests share the machine where two processes run them (``make test``)."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent
MEASURE = {"benchmarks", "calibration", "cluster"}  # rooms that time programs, or lay out networks


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Slow tests run in two rows, those that measure in one of them; others file by file."""
    for item in items:
        room = item.path.relative_to(HERE).parts[0]
        row = "measure" if room in MEASURE else "run"
        slow = item.get_closest_marker("slow") is not None
        item.add_marker(pytest.mark.xdist_group(row if slow else str(item.path)))

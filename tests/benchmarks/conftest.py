"""What takes long of the tests of what measures and judges the model is evidence."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent
LONG = {HERE / f"test_{name}.py" for name in ("scale_terms", "scaling", "speed")}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder that take long, or start ranks, clusters or browsers."""
    for item in items:
        long = item.path in LONG or item.get_closest_marker("slow")
        if item.path.is_relative_to(HERE) and long:
            item.add_marker(pytest.mark.evidence)

"""How tests share the machine where two processes run them (``make test``)."""

from __future__ import annotations

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Slow tests run one after the other, beside the others, file by file.

    They start ranks, clusters and browsers: two at once would take each other's cores, ports and
    processes.
    """
    for item in items:
        slow = item.get_closest_marker("slow") is not None
        item.add_marker(pytest.mark.xdist_group("slow" if slow else str(item.path)))

"""A plugin of pytest: of the files of tests that are chosen, every second, third, ... one.

``-p tests.share --share 1/2`` and ``--share 2/2`` run each test once between them. A file stays
whole, so that its fixtures are made once.
"""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Which of how many shares."""
    parser.addoption("--share", metavar="NUMBER/OF", help="every OF-th file, from the NUMBER-th on")


@pytest.hookimpl(trylast=True)  # after -m and -k
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the tests of other shares out."""
    number, _, of = config.getoption("share").partition("/")
    files = list(dict.fromkeys(item.path for item in items))
    own = set(files[int(number) - 1 :: int(of)])
    config.hook.pytest_deselected(items=[item for item in items if item.path not in own])
    items[:] = [item for item in items if item.path in own]

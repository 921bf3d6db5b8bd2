"""A plugin of pytest that leaves files of tests out before they are imported.

``-p tests.share --share 1/2`` and ``--share 2/2`` run each test once between them: every second,
third, ... file. A file stays whole, so that its fixtures are made once. ``--marked slow`` leaves
out the files that have no test marked so: importing all of them takes longer than most tests. A
file may have one if it, or the ``conftest.py`` beside it, says ``mark.slow``, or imports
``tests.slow``, which marks. Tests that are marked in another way would be missed: they are refused,
whatever is run.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

MARKS = ("slow", "evidence")
_NUMBERED = pytest.StashKey[dict[Path, int]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Which of how many shares, and of which tests."""
    parser.addoption("--share", metavar="NUMBER/OF", default="1/1",
                     help="every OF-th file, from the NUMBER-th on")  # fmt: skip
    parser.addoption("--marked", choices=MARKS, help="files that may have a test with this mark")


class _LeftOut(pytest.Module):
    """A file that is not imported."""

    def collect(self) -> Sequence[pytest.Item | pytest.Collector]:
        """No test."""
        return ()


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makemodule(
    module_path: Path, parent: pytest.Collector
) -> pytest.Module | None:
    """Leave a file out, except one that the command line names."""
    if _own(parent.config, module_path) or parent.session.isinitpath(module_path):
        return None
    return _LeftOut.from_parent(parent, path=module_path)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Refuse a test that --marked would miss."""
    for mark in MARKS:
        if item.get_closest_marker(mark) and not may_have(item.path, mark):
            raise pytest.UsageError(
                f"{item.path}: {item.name} is marked {mark} by another file: --marked {mark} "
                f"would miss it; mark it here, by pytest.mark.{mark}"
            )


@pytest.hookimpl(trylast=True)  # after -m and -k
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests of files that are named, and of another share."""
    own = {item: _own(config, item.path) for item in items}
    config.hook.pytest_deselected(items=[item for item, kept in own.items() if not kept])
    items[:] = [item for item, kept in own.items() if kept]


@cache
def may_have(path: Path, mark: str) -> bool:
    """Whether a file may have tests with this mark, by its text."""
    word = re.compile(rf"\b(mark|tests)\.{mark}\b")
    return any(
        word.search(file.read_text(encoding="utf-8"))
        for file in (path, path.parent / "conftest.py")
        if file.exists()
    )


def _own(config: pytest.Config, path: Path) -> bool:
    """Whether a file is of this share; they are numbered as they come."""
    mark = config.getoption("marked")
    if mark and not may_have(path, mark):
        return False
    numbered = config.stash.setdefault(_NUMBERED, {})
    number, _, of = config.getoption("share").partition("/")
    return numbered.setdefault(path, len(numbered)) % int(of) == int(number) - 1

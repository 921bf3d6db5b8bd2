"""A plugin of pytest: the seconds of CPU that tests take, their processes included.

``-p tests.cpu`` adds a table of the files, and one of the tests, that take most. Where cores are
few, that is what a test costs; ``--durations`` counts waiting, too.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator

import pytest

SHOWN = 40  # of files, and of tests
_TAKEN: Counter[str] = Counter()


def _cpu_s() -> float:
    """Of this process and of all its children that have ended."""
    return sum(os.times()[:4])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Time a test with its fixtures: those that several share count for the first."""
    before = _cpu_s()
    try:
        return (yield)
    finally:
        _TAKEN[item.nodeid] += _cpu_s() - before


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The tables."""
    files: Counter[str] = Counter()
    for test, taken_s in _TAKEN.items():
        files[test.partition("::")[0]] += taken_s
    terminalreporter.section(f"{sum(files.values()):.0f} s of CPU")
    for most in (files, _TAKEN):
        for name, taken_s in most.most_common(SHOWN):
            terminalreporter.line(f"{taken_s:7.1f} s  {name}")
        terminalreporter.line("")

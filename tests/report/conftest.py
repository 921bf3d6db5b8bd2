"""The browser that the tests of a file share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.report import browser


@pytest.fixture(scope="module", autouse=True)
def _browser_of_a_file() -> Iterator[None]:
    """End the browser that pages of this file were opened in, where there were any."""
    yield
    browser.RUNNING.close()

"""A headless Chromium with a page in it, and all that the page said, asked for or got wrong."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright

from dse.report.pdf import NAMES

HEIGHT = 900
Look: TypeAlias = tuple[int, Literal["light", "dark"]]  # width, scheme
LOOKS: list[Look] = [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")]
LOOKED_AT: list[Look] = [(1280, "light"), (390, "dark")]  # always; the others as evidence
SERIOUS = ("serious", "critical")
READY = "document.documentElement.dataset.charts === 'drawn'"


def chromium() -> str | None:
    """Path of a Chromium, None where there is none."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


needs_chromium = pytest.mark.skipif(
    chromium() is None, reason="no Chromium here; on Debian: apt-get install chromium"
)


@dataclass
class Seen:
    """A page in a browser, the lines of its console, its errors, and what it asked for beyond
    itself."""

    page: Page
    console: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def run(self, script: str) -> Any:
        """What the body of a function returns in the page."""
        return self.page.evaluate(f"() => {{ {script} }}")


class _Running:
    """The Chromium whose windows the tests of one file open: starting it takes longer than they
    do. Each page has a context of its own, which knows nothing of others."""

    def __init__(self) -> None:
        self._held = ExitStack()
        self._browser: Browser | None = None

    def browser(self) -> Browser:
        """Started at first."""
        if self._browser is None:
            playwright = self._held.enter_context(sync_playwright())
            self._browser = playwright.chromium.launch(executable_path=chromium())
            self._held.callback(self._browser.close)
        return self._browser

    def close(self) -> None:
        """End it where it was started; the next page starts another."""
        self._browser = None
        self._held.close()


RUNNING = _Running()


@contextmanager
def opened(
    html: str,
    folder: Path,
    width: int = 1200,
    scheme: Literal["light", "dark"] = "light",
    ready: str | None = READY,
) -> Iterator[Seen]:
    """The page in a window of that width. ready: what is waited for, that its charts are drawn."""
    path = folder / "page.html"
    path.write_text(html, encoding="utf-8")
    context = RUNNING.browser().new_context(
        viewport={"width": width, "height": HEIGHT}, color_scheme=scheme
    )
    try:
        seen = Seen(context.new_page())
        seen.page.on("console", lambda line: seen.console.append(line.text))
        seen.page.on("pageerror", lambda error: seen.console.append(str(error)))
        seen.page.on("request", lambda request: seen.requests.append(request.url))
        seen.page.goto(path.as_uri())
        if ready is not None:
            seen.page.wait_for_function(ready)
        seen.requests.remove(path.as_uri())
        yield seen
    finally:
        context.close()


def grave(seen: Seen) -> list[str]:
    """What axe-core finds that keeps somebody from reading the page."""
    found = Axe().run(seen.page).response["violations"]
    return [
        f"{rule['id']}: {rule['help']}: {rule['nodes'][0]['html'][:200]}"
        for rule in found
        if rule["impact"] in SERIOUS
    ]

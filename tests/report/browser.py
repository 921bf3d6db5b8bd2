"""A headless Chromium with a page in it, and all that the page said, asked for or got wrong."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, sync_playwright

from dse.report.pdf import NAMES

HEIGHT = 900
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
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium())
        try:
            context = browser.new_context(
                viewport={"width": width, "height": HEIGHT}, color_scheme=scheme
            )
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
            browser.close()


def grave(seen: Seen) -> list[str]:
    """What axe-core finds that keeps somebody from reading the page."""
    found = Axe().run(seen.page).response["violations"]
    return [
        f"{rule['id']}: {rule['help']}: {rule['nodes'][0]['html'][:200]}"
        for rule in found
        if rule["impact"] in SERIOUS
    ]

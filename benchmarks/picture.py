"""The README's picture of a report: ``python -m benchmarks.picture FOLDER`` writes docs/report.png.

FOLDER is that of a finished run; it needs Chromium, as the tests of the page do.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

from dse.report.pdf import found_browser

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "report.png"
WIDTH, HEIGHT = 1110, 1600
READY = "document.documentElement.dataset.charts === 'drawn'"
COLORS = 128  # enough for a page of few colours; a third of the bytes


def take(page: Path, picture: Path, height: int = HEIGHT) -> None:
    """Write what a reader sees first of a page, by day, with as few colours as serve."""
    from PIL import Image  # comes with matplotlib

    taken = picture.with_suffix(".tmp.png")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found_browser())
        try:
            window = browser.new_page(viewport={"width": WIDTH, "height": height})
            window.goto(page.resolve().as_uri())
            window.wait_for_function(READY)
            window.screenshot(path=taken)
        finally:
            browser.close()
    Image.open(taken).convert("P", palette=Image.Palette.ADAPTIVE, colors=COLORS).save(
        taken, optimize=True
    )
    shutil.move(taken, picture)


def main() -> None:
    """Take the picture."""
    take(Path(sys.argv[1]) / "report.html", PICTURE)
    print(f"wrote {PICTURE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()

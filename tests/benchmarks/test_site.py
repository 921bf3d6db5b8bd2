"""The documentation as a site: links as forges and the site have them, pages from the code."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.site import gallery, links, reference
from dse.catalog.store import shipped_studies
from dse.study.quantities import QUANTITIES
from tests.report.browser import chromium, needs_chromium

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "docs" / "notebooks" / "first.ipynb"
BUILD_S = 300.0
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]

needs_mkdocs = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("material", "mkdocstrings")),
    reason="mkdocs is not installed; make docs installs it",
)


def test_links_are_changed_and_code_is_not() -> None:
    text = (
        "[a](study.md#money) `[b](study.md)` [c](../models/memory.yaml) [d](#here)\n\n"
        "```text\n[e](../README.md)\n```\n\n[f](../README.md) [g](https://x.org/a) [h](gone.md)\n"
    )
    assert links.on_site(text, "docs/decisions/../money.md", "money.md") == (
        "[a](study.md#money) `[b](study.md)` [c](source/models/memory.yaml.md) [d](#here)\n\n"
        "```text\n[e](../README.md)\n```\n\n[f](index.md) [g](https://x.org/a) [h](gone.md)\n"
    )
    readme = "[a](docs/study.md) ![b](docs/report.png) [c](models/accelerators)"
    assert links.on_site(readme, "README.md", "index.md") == (
        "[a](study.md) ![b](report.png) [c](source/models/accelerators/index.md)"
    )
    assert list(links.targets(readme, "README.md")) == [
        "docs/study.md", "docs/report.png", "models/accelerators",
    ]  # fmt: skip


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_of_the_markdown_lead_somewhere(page: Path) -> None:
    """As on a forge: relative paths to files that there are."""
    text = page.read_text(encoding="utf-8")
    plain = re.sub(r"^```.*?^```|`[^`\n]+`", "", text, flags=re.DOTALL | re.MULTILINE)
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", plain):
        assert re.match(r"https?:", target) or (page.parent / target).exists(), target


def test_every_quantity_and_every_key_is_told() -> None:
    table = reference.quantities()
    for row in QUANTITIES.values():
        assert f"| `{row.name}` | {row.doc} | `{row.column}` |" in table
    schema = json.loads((ROOT / "docs" / "study.schema.json").read_text(encoding="utf-8"))
    page = reference.keys(schema, "Keys", "study")
    for key in (*schema["properties"], *schema["$defs"]["Space"]["properties"]):
        assert f"| `{key}` |" in page
    for anchor in re.findall(r"\]\(#([a-z-]+)\)", page):
        assert f"## {anchor.capitalize().replace('-', ' ')}\n" in page


def test_the_gallery_has_every_study_that_ships() -> None:
    names = set(shipped_studies())
    assert {study.name for study in gallery.shipped()} == names
    (page,) = (text for place, text in gallery.pages() if place == "gallery/index.md")
    for study in gallery.shipped():
        assert f"## {study.name}\n" in page
        assert study.description in page


def test_the_notebook_is_kept_without_its_outputs() -> None:
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert len(code) >= 5
    assert all((cell["outputs"], cell["execution_count"]) == ([], None) for cell in code)


@pytest.mark.slow
def test_the_notebook_runs() -> None:
    for name in ("nbformat", "nbclient", "ipykernel"):
        pytest.importorskip(name)
    code = (
        "from pathlib import Path\nfrom benchmarks.site.notebook import markdown\n"
        f"print(markdown(Path({str(NOTEBOOK)!r})))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=BUILD_S,
        env=_environment(), check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert " your baseline" in done.stdout
    assert "Plotly.newPlot(" in done.stdout
    assert "Error" not in done.stdout


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "NO_MKDOCS_2_WARNING": "1"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as ``make docs`` does: where a link leads nowhere it is not."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--site-dir", folder], cwd=ROOT,
        env=_environment(), capture_output=True, text=True, timeout=BUILD_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert "WARNING" not in done.stderr
    return folder


@pytest.mark.slow
@needs_mkdocs
def test_every_page_of_docs_is_on_the_site_and_in_its_navigation(site: Path) -> None:
    home = (site / "index.html").read_text(encoding="utf-8")
    for page in (ROOT / "docs").rglob("*.md"):
        place = page.relative_to(ROOT / "docs").with_suffix(".html").as_posix()
        assert (site / place).is_file(), place
        assert f'href="{place}"' in home, place


@pytest.mark.slow
@needs_mkdocs
@needs_chromium
def test_pages_load_nothing_from_the_web_and_are_searched(site: Path) -> None:
    from playwright.sync_api import sync_playwright

    asked, said = [], []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium())
        try:
            context = browser.new_context(offline=True, viewport={"width": 390, "height": 800})
            page = context.new_page()
            page.on("request", lambda request: asked.append(request.url))
            page.on("console", lambda line: said.append(line.text))
            page.on("pageerror", lambda error: said.append(str(error)))
            for name in ("study.html", "reference/python.html", "notebooks/first.html",
                         "decisions/index.html", "gallery/index.html", "index.html"):  # fmt: skip
                page.goto((site / name).as_uri())
                width = page.evaluate("document.documentElement.scrollWidth")
                assert width == 390, f"{name} is wider than a telephone: {width}"
            page.set_viewport_size({"width": 1280, "height": 800})
            page.get_by_role("textbox", name="Search").press_sequentially("oversubscription")
            page.wait_for_selector(".md-search-result__item a[href*='oversubscribed']")
        finally:
            browser.close()
    assert not [url for url in asked if not url.startswith(("file:", "data:", "blob:", "about:"))]
    assert said == []

"""What mkdocs calls while it builds the site, see mkdocs.yml."""

from __future__ import annotations

import re
from gzip import decompress
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from benchmarks.site import gallery, links, notebook, reference, sources
from benchmarks.site.links import ROOT

DOCS = ROOT / "docs"
CHARTS = ROOT / "dse" / "report" / "vendor" / "plotly-basic.min.js.gz"
FRONT = {"index.md": "---\ntitle: Home\nhide: [navigation]\n---\n\n"}
DECISIONS = "decisions/index.md"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Complete the navigation by every decision."""
    nav: Any = config.nav
    _section(nav, "Decisions").extend(
        {_title(page): f"decisions/{page.name}"} for page in _decision_pages()
    )
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are not in docs/, or not written by hand."""
    written = {f"docs/{file.src_uri}": file.content_string for file in files.documentation_pages()}
    for path, place in links.HOMES.items():
        written[path] = (ROOT / path).read_text(encoding="utf-8")
        files.append(File.generated(config, place, content=FRONT.get(place, "") + written[path]))
    for place, text in (*reference.pages(), *gallery.pages(), (DECISIONS, _decisions())):
        files.append(File.generated(config, place, content=text))
    for path in gallery.files():
        place = f"gallery/{path.relative_to(gallery.FOLDER).as_posix()}"
        files.append(File.generated(config, place, abs_src_path=str(path)))
    files.append(File.generated(config, notebook.CHARTS, content=decompress(CHARTS.read_bytes())))
    for file in list(files):
        if file.src_uri.endswith(links.NOTEBOOK):
            place = links.home(f"docs/{file.src_uri}")
            files.append(
                File.generated(config, place, content=notebook.markdown(DOCS / file.src_uri))
            )
    linked = {"search_spaces"} | {
        one for path, text in written.items() for one in links.targets(text, path)
    }
    for place, text in sources.pages(linked):
        files.append(File.generated(config, place, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links as the site has them; remarks, which would glue to a table, are left out."""
    del config, files
    place = page.file.src_uri
    homes = {place: path for path, place in links.HOMES.items()}
    if place.startswith(links.SOURCE) or (page.file.generated_by and place not in homes):
        return markdown
    without = links.outside_code(markdown, lambda text: re.sub(r"<!--.*?-->", "\n", text))
    return links.on_site(without, homes.get(place, f"docs/{place}"), place)


def _decision_pages() -> list[Path]:
    return sorted((DOCS / "decisions").glob("*.md"))


def _decisions() -> str:
    lines = ["# Decisions", "", "Why things are as they are, half a page each.", ""]
    lines += [f"- [{_title(page)}]({page.name})" for page in _decision_pages()]
    return "\n".join([*lines, ""])


def _title(page: Path) -> str:
    """The heading of a page."""
    first = page.read_text(encoding="utf-8").partition("\n")[0]
    return first.removeprefix("# ").strip()


def _section(nav: list[Any], title: str) -> list[Any]:
    """The section of the navigation of that title, at any depth."""
    found = _found(nav, title)
    if found is None:
        raise KeyError(f"mkdocs.yml has no section {title}")
    return found


def _found(nav: list[Any], title: str) -> list[Any] | None:
    for entry in nav:
        for name, inside in entry.items():
            if isinstance(inside, list):
                if name == title:
                    return inside
                if (found := _found(inside, title)) is not None:
                    return found
    return None

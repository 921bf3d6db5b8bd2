"""A page of HTML, read as its reader has it."""

from __future__ import annotations

from html.parser import HTMLParser


class Page(HTMLParser):
    """Sections, what would be loaded, and the text of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.sections: list[str] = []
        self.loads: list[str] = []
        self.text = ""
        self._hidden = False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self._hidden = tag in ("script", "style")
        if tag == "section":
            self.sections.append(str(found["id"]))
        if tag != "a":
            target = found.get("src") or found.get("href") or ""
            self.loads += [target] if target and not target.startswith("data:") else []

    def handle_endtag(self, _tag: str) -> None:
        self._hidden = False

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.text += data.replace("\u00a0", " ")

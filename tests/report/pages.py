"""A page of HTML, read as its reader has it."""

from __future__ import annotations

from html.parser import HTMLParser


class Page(HTMLParser):
    """Sections, links, scripts, what would be loaded, and the text of a page; no element of it may
    have a handler."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.sections: list[str] = []
        self.loads: list[str] = []
        self.links: list[str] = []
        self.scripts: list[str] = []
        self.text = ""
        self._inside = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = {name: value or "" for name, value in attrs}
        self._inside = tag
        if tag == "section":
            self.sections.append(known["id"])
        if tag == "script":
            self.scripts.append("")
        for name, value in known.items():
            assert not name.startswith("on"), f"{tag} has a handler"
            if name in ("src", "srcset", "data", "poster", "action"):
                self.loads.append(value)
            if name == "href":
                (self.links if tag == "a" else self.loads).append(value)
        self.loads = [load for load in self.loads if load and not load.startswith("data:")]

    def handle_endtag(self, tag: str) -> None:
        self._inside = "" if tag in ("script", "style") else self._inside

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            self.scripts[-1] += data
        elif self._inside != "style":
            self.text += data.replace("\u00a0", " ")

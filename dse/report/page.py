"""report.html, one file that opens offline, and report.md, the same as text. What they share with a
fleet's report is here, too."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from markupsafe import Markup

from dse.report import figures, sections
from dse.report.certainty.section import certainty_figure
from dse.report.document import RunDocument
from dse.report.layout import layout_figures
from dse.report.style import NIGHT
from dse.report.templating import TEMPLATES, embed, environment
from dse.report.waterfall import waterfall_figure

VENDOR = Path(__file__).parent / "vendor"
MOST_BYTES = 1_300_000  # of a page, so that it goes by mail and opens on a telephone
# The browser is told to fetch nothing, whatever a study's texts contain.
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; font-src data:; base-uri 'none'; form-action 'none'"
)


def render_page(document: RunDocument) -> str:
    """The page of a run, self-contained."""
    template = environment("html").get_template("report.html.j2")
    bodies = sections.bodies(document, environment("html"), on_page=True)
    return template.render(
        d=document,
        sections=[(section, Markup(body)) for section, body in bodies],
        **shell(document.study.name, charts(document)),
    )


def charts(document: RunDocument) -> dict[str, str]:
    """The charts of a run, Plotly figures in JSON, by name."""
    return {
        "front": figures.front_figure(document),
        "time": figures.time_figure(document),
        **({"waterfall": waterfall_figure(document)} if document.waterfall else {}),
        **(layout_figures(document.layout) if document.layout else {}),
        **({"certainty": certainty_figure(document)} if document.certainty else {}),
    }


def render_markdown(document: RunDocument) -> str:
    """The answer of the page as GitHub-flavoured Markdown, for a repository or a mail."""
    bodies = sections.bodies(document, environment("md"), on_page=False)
    template = environment("md").get_template("report.md.j2")
    return tidy(template.render(d=document, sections=bodies))


def tidy(text: str) -> str:
    """Markdown with no more than one empty line between its blocks."""
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def shell(name: str, drawn: Mapping[str, str]) -> dict[str, Any]:
    """What every page is made of. name: printed at the head of each sheet of paper; drawn: its
    charts, Plotly figures in JSON, by name."""
    return {
        "policy": POLICY,
        "css": own_file("report.css"),
        "running_head": css_string(name),
        "js": own_file("report.js"),
        "plotly": plotly_script(),
        "night": embed(json.dumps(NIGHT)),
        "figures": {name: embed(figure) for name, figure in drawn.items()},
    }


def css_string(text: str) -> Markup:
    """A text as a string of CSS: whatever is no letter, digit or blank is written as a number."""
    safe = (c if c.isascii() and (c.isalnum() or c == " ") else f"\\{ord(c):06x}" for c in text)
    return Markup(f'"{"".join(safe)}"')


def own_file(name: str) -> Markup:
    """A style sheet or script of ours, as it is."""
    return Markup((TEMPLATES / name).read_text(encoding="utf-8"))


@cache
def plotly_script() -> Markup:
    """The basic bundle of plotly.js, as base64 of gzip, which the page unpacks."""
    packed = (VENDOR / "plotly-basic.min.js.gz").read_bytes()
    return Markup(base64.b64encode(packed).decode("ascii"))

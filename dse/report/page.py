"""report.html: one file that opens offline."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import jinja2
from markupsafe import Markup

from dse.report import figures, sections, words
from dse.report.certainty.figure import certainty_figure
from dse.report.document import RunDocument

TEMPLATES = Path(__file__).parent / "templates"
# The browser is told to fetch nothing, whatever a study's texts contain.
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; font-src data:; base-uri 'none'; form-action 'none'"
)
_UNIT = re.compile(r"(\d) (%|(?:[kMBTGP]?[WJ]?|[mu]?s|h|min|days|[GMK]iB)\b)")


def render_page(document: RunDocument) -> str:
    """The page of a run, self-contained."""
    template = environment().get_template("report.html.j2")
    bodies = sections.bodies(document, environment(), "html")
    return template.render(
        d=document,
        sections=[(section, Markup(body)) for section, body in bodies],
        policy=POLICY,
        css=own_file("report.css"),
        js=own_file("report.js"),
        plotly=plotly_script(),
        front_figure=embed(figures.front_figure(document)),
        time_figure=embed(figures.time_figure(document)),
        certainty_figure=embed(certainty_figure(document)),
    )


def embed(json_text: str) -> Markup:
    """JSON for a script element: no character of it can end the element or start markup."""
    for letter in "<>&\u2028\u2029":
        json_text = json_text.replace(letter, f"\\u{ord(letter):04x}")
    return Markup(json_text)


def unbroken(text: str) -> str:
    """The text with its numbers and their units kept on one line."""
    text = text.replace("USD ", "USD\u00a0")
    return _UNIT.sub("\\1\u00a0\\2", text)


@cache
def environment() -> jinja2.Environment:
    """Of every HTML page: everything is escaped, nothing may be missing."""
    found = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters.update(
        count=words.count, duration=words.duration, percent=words.percent, unbroken=unbroken
    )
    return found


def own_file(name: str) -> Markup:
    """A style sheet or script of ours, as it is."""
    return Markup((TEMPLATES / name).read_text(encoding="utf-8"))


@cache
def plotly_script() -> Markup:
    """The whole of plotly.js."""
    from plotly.offline import get_plotlyjs

    return Markup(get_plotlyjs())

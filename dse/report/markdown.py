"""report.md: the page's answer as text, for a repository or a mail."""

from __future__ import annotations

import re
from functools import cache

import jinja2
from markupsafe import Markup

from dse.report import sections, words
from dse.report.deal import deal
from dse.report.document import RunDocument
from dse.report.style import TEMPLATES, blocks

_BLANKS = re.compile(r"\s+")
_SPECIAL = re.compile(r"([\\`*_\[\]<>|#~])")


def render_markdown(document: RunDocument) -> str:
    """The report of a run as GitHub-flavoured Markdown."""
    bodies = sections.bodies(document, environment(), on_page=False)
    template = environment().get_template("report.md.j2")
    text = template.render(d=document, deal=deal(document), sections=bodies)
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def escaped(value: object) -> Markup:
    """One line of text in which no character is markup; what is markup already as it is."""
    if isinstance(value, Markup):
        return value
    return Markup(_SPECIAL.sub(r"\\\1", _BLANKS.sub(" ", str(value))))


def one_line(text: str) -> str:
    """The text with one blank for every run of blanks and line ends."""
    return type(text)(" ".join(text.split()))


def fenced(text: str) -> Markup:
    """A code block that no run of backticks in ``text`` can end."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return Markup(f"{fence}\n{text.rstrip()}\n{fence}")


@cache
def environment() -> jinja2.Environment:
    """The templates of every Markdown file. ``finalize`` escapes every value, and what Jinja would
    escape as HTML is markup by then."""
    found = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        finalize=escaped,
        extensions=["jinja2.ext.do"],
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters.update(
        combinations=words.combinations, count=words.count, duration=words.duration, embed=str,
        fenced=fenced, one_line=one_line, percent=words.percent, unbroken=lambda text: text,
    )  # fmt: skip
    found.globals |= blocks(found, "blocks.md.j2")
    return found

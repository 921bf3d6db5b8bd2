"""report.md: the page's answer as text, for a repository or a mail."""

from __future__ import annotations

import re
from functools import cache

import jinja2

from dse.report import sections, words
from dse.report.deal import deal
from dse.report.document import RunDocument
from dse.report.style import TEMPLATES

_SPECIAL = re.compile(r"([\\`*_\[\]<>|#~])")


class Verbatim(str):
    """Text that is not escaped: it stands in a fenced block."""


def render_markdown(document: RunDocument) -> str:
    """The report of a run as GitHub-flavoured Markdown."""
    bodies = sections.bodies(document, environment(), "md")
    template = environment().get_template("report.md.j2")
    text = template.render(d=document, deal=deal(document), sections=bodies)
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def escaped(value: object) -> str:
    """One line of text in which no character is markup."""
    text = str(value)
    if isinstance(value, Verbatim):
        return text
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def fenced(text: str) -> Verbatim:
    """A code block that no run of backticks in ``text`` can end."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return Verbatim(f"{fence}\n{text.rstrip()}\n{fence}")


@cache
def environment() -> jinja2.Environment:
    found = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=False,  # Markdown is not HTML: ``finalize`` escapes every value instead
        finalize=escaped,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters.update(
        combinations=words.combinations,
        count=words.count,
        duration=words.duration,
        percent=words.percent,
        fenced=fenced,
        verbatim=Verbatim,
    )
    return found

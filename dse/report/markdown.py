"""report.md: the page's answer as text, for a repository or a mail."""

from __future__ import annotations

import re

from dse.report import sections
from dse.report.deal import deal
from dse.report.document import RunDocument
from dse.report.templating import environment


def render_markdown(document: RunDocument) -> str:
    """The report of a run as GitHub-flavoured Markdown."""
    bodies = sections.bodies(document, environment("md"), on_page=False)
    template = environment("md").get_template("report.md.j2")
    text = template.render(d=document, deal=deal(document), sections=bodies)
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"

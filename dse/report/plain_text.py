"""Plain text made of a template: files that are neither page nor Markdown."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import jinja2

TEMPLATES = Path(__file__).parent / "templates"


def filled(template: str, facts: Mapping[str, object]) -> str:
    """A template, by its path in templates/, with facts by name. Nothing is escaped."""
    return _environment().get_template(template).render(facts)


@cache
def _environment() -> jinja2.Environment:
    import jinja2

    found = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=False,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    found.filters["quoted"] = shlex.quote
    return found

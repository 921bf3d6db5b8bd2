"""Templates of the files that are written: pages, Markdown and plain text."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from markupsafe import Markup

from dse.report import words

if TYPE_CHECKING:
    import jinja2

Kind: TypeAlias = Literal["html", "md", "txt"]
TEMPLATES = Path(__file__).parent / "templates"
_UNIT = re.compile(r"(\d) (%|(?:[kMBTGP]?[WJ]|[kMBTGP]|[mu]?s|h|min|days|[GMK]iB)\b)")
_BLANKS = re.compile(r"\s+")
_SPECIAL = re.compile(r"([\\`*_\[\]<>|#~])")


@cache
def environment(kind: Kind) -> jinja2.Environment:
    """The templates of a kind of file; nothing in them may be missing.

    Every value is escaped, but in plain text. In Markdown ``finalize`` does that, so that what
    Jinja would escape as HTML is markup by then. Templates of pages and of Markdown have the macros
    of their library of blocks.
    """
    import jinja2

    marked = kind != "txt"
    found = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=marked,
        finalize=escaped if kind == "md" else None,
        extensions=["jinja2.ext.do"],
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=not marked,
    )
    found.filters.update(
        combinations=words.combinations, count=words.count, embed=embed, fenced=fenced,
        one_line=one_line, percent=words.percent, quoted=shlex.quote,
        unbroken=unbroken if kind == "html" else lambda text: text,
    )  # fmt: skip
    if marked:
        library = vars(found.get_template(f"blocks.{kind}.j2").module)
        found.globals |= {name: one for name, one in library.items() if not name.startswith("_")}
    return found


def filled(template: str, facts: Mapping[str, object]) -> str:
    """A template of plain text, by its path in templates/, with facts by name."""
    return environment("txt").get_template(template).render(facts)


def escaped(value: object) -> Markup:
    """One line of Markdown in which no character is markup; what is markup already as it is."""
    if isinstance(value, Markup):
        return value
    return Markup(_SPECIAL.sub(r"\\\1", _BLANKS.sub(" ", str(value))))


def one_line(text: str) -> str:
    """The text with one blank for every run of blanks and line ends."""
    return type(text)(" ".join(text.split()))


def fenced(text: str) -> Markup:
    """A code block of Markdown that no run of backticks in ``text`` can end."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return Markup(f"{fence}\n{text.rstrip()}\n{fence}")


def embed(json_text: str) -> Markup:
    """JSON for a script element: no character of it can end the element or start markup."""
    for letter in "<>&\u2028\u2029":
        json_text = json_text.replace(letter, f"\\u{ord(letter):04x}")
    return Markup(json_text)


def unbroken(value: object) -> str:
    """The text with its numbers and their units kept on one line."""
    text = _UNIT.sub("\\1\u00a0\\2", str(value).replace("USD ", "USD\u00a0"))
    return Markup(text) if isinstance(value, Markup) else text

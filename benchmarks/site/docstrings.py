"""Docstrings in Markdown: names that they refer to, and examples."""

from __future__ import annotations

import re

import dse

_ROLE = re.compile(r":\w+:`~?([\w.]+)`")
_EXAMPLE = re.compile(r"^>>> .*(?:\n.+)*", re.MULTILINE)


def in_markdown(docstring: str) -> str:
    """Links to public names, code of other names, blocks of examples.

    >>> in_markdown("See :class:`dse.Prices` and :mod:`dse.units`.")
    'See [`dse.Prices`][dse.Prices] and `dse.units`.'
    """
    docstring = re.sub(r"\s*# doctest: \+SKIP", "", docstring)
    return _EXAMPLE.sub("```pycon\n\\g<0>\n```", _ROLE.sub(_link, docstring))


def _link(found: re.Match[str]) -> str:
    name = found[1]
    public = name.startswith("dse.") and name.removeprefix("dse.") in dse.__all__
    return f"[`{name}`][{name}]" if public else f"`{name}`"

"""Links between Markdown files of the repository, as they are on the site.

In the Markdown they are relative paths, as forges show them: from docs/study.md to
``../models/memory.yaml``. On the site the page of README is ``index.md``, and files outside of
docs/ have pages of their own below ``source/``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from posixpath import dirname, join, normpath, relpath

ROOT = Path(__file__).parents[2]
DOCS = "docs/"
SOURCE = "source/"
NOTEBOOK = ".ipynb"
HOMES = {"README.md": "index.md", "CHANGELOG.md": "changes.md"}  # elsewhere on the site
# Blocks of code and code within a line; what is left has links. A fence ends as it began.
_CODE = re.compile(
    r"(^(?P<fence>```+|~~~+).*?^(?P=fence)[ ]*$|`[^`\n]+`)", re.DOTALL | re.MULTILINE
)
_LINK = re.compile(r"(?<=\]\()(?!\w+:|#|/)([^)#\s]+)(#[^)\s]*)?(?=\))")


def home(path: str) -> str:
    """Where a file or folder of the repository is on the site, by its path from the root.

    >>> home("README.md"), home("docs/study.md"), home("dse/model"), home("models/laws.csv")
    ('index.md', 'study.md', 'source/dse/model/index.md', 'source/models/laws.csv.md')
    """
    if path in HOMES:
        return HOMES[path]
    if path.startswith(DOCS):
        inside = path.removeprefix(DOCS)
        if inside.endswith(NOTEBOOK):
            return inside.removesuffix(NOTEBOOK) + ".md"
        return f"{inside}/index.md" if (ROOT / path).is_dir() else inside
    return f"{SOURCE}{path}/index.md" if (ROOT / path).is_dir() else f"{SOURCE}{path}.md"


def targets(text: str, written_in: str) -> Iterator[str]:
    """The files and folders of the repository that a page links to, by their paths from the root.

    written_in: the path of the page's Markdown.
    """
    for part in _CODE.split(text)[::3]:
        for found in _LINK.finditer(part):
            path = _path(found[1], written_in)
            if (ROOT / path).exists():
                yield path


def on_site(text: str, written_in: str, shown_at: str) -> str:
    """The Markdown with the links of a page as the site has them.

    shown_at: where the page is on the site. What leads nowhere is left for mkdocs to complain of.
    """

    def changed(found: re.Match[str]) -> str:
        path = _path(found[1], written_in)
        if not (ROOT / path).exists():
            return found[0]
        return relpath(home(path), dirname(shown_at) or ".") + (found[2] or "")

    return outside_code(text, lambda part: _LINK.sub(changed, part))


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """The Markdown with a change made to everything but code."""
    parts = _CODE.split(text)
    return "".join(
        change(part) if number % 3 == 0 else part
        for number, part in enumerate(parts)
        if number % 3 != 2  # the fence's own group
    )


def _path(target: str, written_in: str) -> str:
    return normpath(join(dirname(written_in), target))

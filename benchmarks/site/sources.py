"""Pages of the files and folders outside of docs/ that pages link to."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import PurePosixPath
from posixpath import basename

from benchmarks.site.links import DOCS, HOMES, ROOT, home

LANGUAGES = {".py": "python", ".yaml": "yaml", ".json": "json", ".md": "markdown"}
COLORED_BYTES = 50_000  # what is longer is shown without colours
LARGEST_BYTES = 300_000  # what is longer is not shown
NOT_SEARCHED = "---\nsearch:\n  exclude: true\n---\n\n"


def pages(linked: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Place on the site and Markdown, of every path outside of docs/ and all that it holds.

    linked: paths from the root of the repository. Folders within a folder are only named.
    """
    outside = {path for path in linked if not path.startswith(DOCS) and path not in HOMES}
    for path in sorted(outside | {one for each in outside for one in _within(each)}):
        yield home(path), _folder(path) if (ROOT / path).is_dir() else _file(path)


@cache
def _within(path: str) -> list[str]:
    """The files of a folder, without those that git ignores."""
    found = [f"{path}/{one.name}" for one in (ROOT / path).glob("*") if one.is_file()]
    done = subprocess.run(["git", "check-ignore", "--stdin"], input="\n".join(found), cwd=ROOT,
                          stdout=subprocess.PIPE, text=True, check=False)  # fmt: skip
    return sorted(set(found).difference(done.stdout.splitlines()))


def _folder(path: str) -> str:
    folders = sorted(one.name for one in (ROOT / path).iterdir()
                     if one.is_dir() and not one.name.startswith(("_", ".")))  # fmt: skip
    lines = [f"# {path}/", ""]
    lines += [f"- [{basename(one)}]({basename(home(one))})" for one in _within(path)]
    lines += [f"- {name}/" for name in folders]
    return NOT_SEARCHED + "\n".join(lines) + "\n"


def _file(path: str) -> str:
    text = (ROOT / path).read_text(encoding="utf-8")
    size = len(text.encode())
    if size > LARGEST_BYTES:
        return f"{NOT_SEARCHED}# {path}\n\n{size / 1e6:.1f} MB, which is too long to be shown.\n"
    language = (
        LANGUAGES.get(PurePosixPath(path).suffix, "text") if size <= COLORED_BYTES else "text"
    )
    fence = "~" * 8
    return f"{NOT_SEARCHED}# {path}\n\n{fence} {language}\n{text.rstrip()}\n{fence}\n"

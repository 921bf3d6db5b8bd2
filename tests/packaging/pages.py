"""Pages whose commands run, block after block, and print what is quoted below them.

A block ``bash`` of a page, or an indented one that begins with ``dse``, is run by bash; a block
``text`` that follows it under the same heading quotes some of what it prints, line by line, a long
line over several of which all but the first are indented. ``python -m tests.packaging.pages PAGE``
brings the quotations up to date.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import zip_longest
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SHIPPED = ("search_spaces", "models", "docs", "benchmarks")  # what a clone has beside the page
DEADLINE_S = 400.0
WIDTH = 118
# Fenced blocks, and indented ones that begin with a command of dse.
_BLOCK = re.compile(
    r"^```(\w+)\n(.*?)^```$|^    (dse [^\n]*\n(?:    [^\n]*\n)*)", re.DOTALL | re.MULTILINE
)


@dataclass(frozen=True)
class Stage:
    """The script of a block, and what the next block quotes, each quotation as its lines."""

    script: str
    quoted: tuple[str, ...]


@dataclass(frozen=True)
class Page:
    """A page of docs/ and what its commands need to run.

    stand_ins: what is put in the place of a placeholder, by regular expression. elsewhere: commands
    that are not run here, by regular expression, and where they are instead, or why not. begin:
    puts into the folder what a reader would have.
    """

    name: str
    stand_ins: Mapping[str, str] = field(default_factory=dict)
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    begin: Callable[[Path], object] = lambda _: None

    @property
    def text(self) -> str:
        """The page as it is written."""
        return (DOCS / self.name).read_text(encoding="utf-8")

    def stages(self) -> list[Stage]:
        """Its blocks of commands, in order."""
        return list(stages(self.text))

    def script(self, stage: Stage) -> str:
        """What is run of a stage."""
        lines = stage.script.splitlines(keepends=True)
        text = "".join(line for line in lines if not self.reason(line))
        for pattern, stand_in in self.stand_ins.items():
            text = re.sub(pattern, stand_in, text)
        return text

    def reason(self, line: str) -> str | None:
        """Why a line is not run here; None where it is."""
        return next((why for pattern, why in self.elsewhere.items() if re.search(pattern, line)),
                    None)  # fmt: skip


def stages(text: str) -> Iterator[Stage]:
    """The blocks of commands of a page."""
    blocks = list(_BLOCK.finditer(text))
    for block, after in zip_longest(blocks, blocks[1:]):
        language, script, indented = block.groups()
        if language == "bash" or indented:
            between = text[block.end() : after.start()] if after else ""
            quotes = after is not None and after[1] == "text" and "\n#" not in between
            script = script or textwrap.dedent(f"    {indented}")
            yield Stage(script, tuple(quotations(after[2])) if quotes else ())


def quotations(block: str) -> list[str]:
    """What a block quotes: lines, with those that go on with one."""
    found: list[str] = []
    for line in block.splitlines():
        if line.startswith("    ") and found and len(found[-1].splitlines()[-1]) > WIDTH * 2 // 3:
            found[-1] += f"\n{line}"
        elif line.strip():
            found.append(line)
    return found


def plain(text: str) -> str:
    """With one space for any, so that a page may break lines."""
    return " ".join(text.split())


def run(script: str, folder: Path) -> str:
    """What a script prints in a folder. Raises AssertionError where it fails."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    kept = {key: value for key, value in os.environ.items() if not key.startswith("DSE_")}
    environment = {**kept, "PATH": path, "PYTHONPATH": str(ROOT), "COLUMNS": "200"}
    done = subprocess.run(["bash", "-euc", script], cwd=folder, env=environment, text=True,
                          capture_output=True, timeout=DEADLINE_S, check=False)  # fmt: skip
    assert done.returncode == 0, (script, done.stdout[-2000:], done.stderr[-2000:])
    return done.stdout


def printed(page: Page, folder: Path) -> list[str]:
    """What each stage of a page prints, run in order in a folder."""
    page.begin(folder)
    return [run(page.script(stage), folder) for stage in page.stages()]


def missing(stage: Stage, out: str) -> list[tuple[str, str | None]]:
    """The quotations that were not printed, each with what should stand there, if that is clear."""
    said = plain(out)
    return [(one, instead(one, out)) for one in stage.quoted if plain(one) not in said]


def instead(quotation: str, out: str) -> str | None:
    """What the output has in the place of a quotation: as many words of the line most like it."""
    words = len(quotation.split())
    found = {" ".join(line.split()[:words]): line.rstrip() for line in out.splitlines()}
    nearest = get_close_matches(plain(quotation), found, 1, 0.5)
    if not nearest:
        return None
    whole = found[nearest[0]]
    if len(whole.split()) == words and len(whole) <= WIDTH:
        return whole  # as a table has it
    return textwrap.fill(nearest[0], WIDTH, subsequent_indent="    ", break_long_words=False,
                         break_on_hyphens=False)  # fmt: skip


def up_to_date(page: Page) -> str:
    """The page with its quotations as they are printed now."""
    text = page.text
    with tempfile.TemporaryDirectory(prefix="page-") as name:
        for stage, out in zip(page.stages(), printed(page, Path(name)), strict=True):
            for old, new in missing(stage, out):
                if new is not None:
                    text = text.replace(old, new)
    return text


def main() -> None:
    """Rewrite the pages that are named."""
    from tests.packaging.test_pages import PAGES

    for name in sys.argv[1:]:
        (page,) = (page for page in PAGES if page.name == Path(name).name)
        (DOCS / page.name).write_text(up_to_date(page), encoding="utf-8")


if __name__ == "__main__":
    main()

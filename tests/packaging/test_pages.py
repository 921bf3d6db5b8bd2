"""Commands that pages of docs/ show are run as they stand there."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.packaging.pages import DOCS, ROOT, SHIPPED, Page, missing, plain, printed, quotations
from tests.report.browser import chromium

pytestmark = pytest.mark.slow

INSTALLS = {r"^pip install": "the environment of the tests has what it needs"}
PRINTS = {} if chromium() else {r" --pdf": "no Chromium here"}


def like_a_clone(folder: Path) -> None:
    """What stands in a clone beside the pages."""
    for name in SHIPPED:
        (folder / name).symlink_to(ROOT / name)


def with_runs(folder: Path) -> None:
    """A clone in which studies were written and run before."""
    like_a_clone(folder)
    (folder / "more-studies").mkdir()
    for target in ("A.yaml", "B.yaml", "more-studies/C.yaml"):
        shutil.copy(ROOT / "search_spaces" / "ethernet-upgrade.yaml", folder / target)
        text = (folder / target).read_text(encoding="utf-8")
        name = Path(target).stem.lower()
        (folder / target).write_text(text.replace("study: ethernet-upgrade", f"study: {name}"))


def with_a_fleet(folder: Path) -> None:
    """A clone, and the fleet and table of jobs that the page shows."""
    like_a_clone(folder)
    text = (DOCS / "fleet.md").read_text(encoding="utf-8")
    for language, name in (("yaml", "my-fleet.yaml"), ("csv", "jobs.csv")):
        (block,) = re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
        (folder / name).write_text(block, encoding="utf-8")


PAGES = [
    Page("tutorial.md", elsewhere={**INSTALLS, **PRINTS}),
    Page(
        "running.md",
        stand_ins={r"\bSTUDY\b": "ethernet-upgrade", r"reports/NAME": "reports/ethernet-upgrade"},
        elsewhere={
            **INSTALLS, **PRINTS,
            r"--executor ray": "tests/search/executors",
            r"^dse serve": "it serves until Ctrl-C: tests/commands/test_serve.py",
        },
        begin=with_runs,
    ),
    Page(
        "guided.md",
        stand_ins={
            r"\bSTUDY\b": "ps-vs-allreduce", r"reports/(NAME|earlier)": "reports/ps-vs-allreduce",
            r"--engine guided( --points \d+)?": "--engine guided --points 300",
        },
        elsewhere=INSTALLS,
        begin=like_a_clone,
    ),
    Page("fleet.md", begin=with_a_fleet),
]  # fmt: skip
NAMES = [page.name for page in PAGES]


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_commands_run_and_print_what_is_quoted(page: Page, tmp_path: Path) -> None:
    for stage, out in zip(page.stages(), printed(page, tmp_path), strict=True):
        assert missing(stage, out) == []


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_what_is_not_run_is_still_there(page: Page) -> None:
    lines = [line for stage in page.stages() for line in stage.script.splitlines()]
    for pattern, why in page.elsewhere.items():
        if pattern not in {**INSTALLS, **PRINTS}:
            assert any(re.search(pattern, line) for line in lines), (pattern, why)


def test_every_page_with_commands_has_a_test_that_runs_them() -> None:
    """Here, or in a test that names the page."""
    tests = "\n".join(
        path.read_text(encoding="utf-8")
        for path in (ROOT / "tests").rglob("test_*.py")
        if path != Path(__file__)
    )
    for page in sorted(DOCS.rglob("*.md")):
        if "```bash\n" in page.read_text(encoding="utf-8") and page.name not in NAMES:
            assert f'"{page.name}"' in tests, f"{page}: no test runs its commands"


def test_a_quotation_may_go_on_in_the_next_line() -> None:
    long = "word " * 20
    block = f"Recommended: {long.strip()}\n    and more.\n    a table's row\nEnd\n"
    first, second, third = quotations(block)
    assert plain(first) == f"Recommended: {plain(long)} and more."
    assert (second, third) == ("    a table's row", "End")

"""Commands that pages of docs/ show are run as they stand there."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from dse.commands.app import app
from tests.packaging import pages
from tests.packaging.pages import DOCS, ROOT, SHIPPED, Page

INSTALLS = {r"^pip install": "the environment of the tests has what it needs"}
PAPERS = "search_spaces/papers"
PRINTS = {r" --pdf": "it needs Chromium: tests/commands/test_report_pdf.py"}


def like_a_clone(folder: Path) -> None:
    """What stands in a clone beside the pages."""
    for name in SHIPPED:
        (folder / name).symlink_to(ROOT / name)


def with_runs(folder: Path) -> None:
    """A clone in which studies were written and run before."""
    like_a_clone(folder)
    (folder / "more-studies").mkdir()
    shipped = (ROOT / PAPERS / "ethernet-upgrade.yaml").read_text(encoding="utf-8")
    for target in ("small.yaml", "A.yaml", "B.yaml", "more-studies/C.yaml"):
        text = shipped.replace("study: ethernet-upgrade", f"study: {Path(target).stem.lower()}")
        text = text.replace("[1 MiB, 25 MiB, 100 MiB]", "25 MiB").replace("[4, 8, 16, 32]", "8")
        (folder / target).write_text(text, encoding="utf-8")


def with_a_fleet(folder: Path) -> None:
    """A clone, the fleet and table of jobs that the page shows, and smaller fleets of the paper."""
    like_a_clone(folder)
    text = (DOCS / "fleet.md").read_text(encoding="utf-8")
    for language, name in (("yaml", "my-fleet.yaml"), ("csv", "jobs.csv")):
        (block,) = re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
        (folder / name).write_text(block, encoding="utf-8")
    for name in ("pai-fleet.yaml", "pai-ps-worker.yaml"):
        shipped = (ROOT / PAPERS / name).read_text(encoding="utf-8")
        smaller = re.sub(r"^jobs: 1e6$", "jobs: 5e4", shipped, flags=re.MULTILINE)
        assert smaller != shipped
        (folder / name).write_text(smaller, encoding="utf-8")


def with_logs(folder: Path) -> None:
    """Logs and tables as the page speaks of them."""
    shutil.copy(DOCS / "procurement" / "vendor-a.log", folder / "all_reduce.log")
    rows = [
        f"polaris,{nodes},4,{4 * nodes},nccl,ofi,allreduce,{size},{30 + nodes + size / 20_000}"
        for nodes in (2, 4, 8)
        for size in (4_096, 65_536, 1_048_576, 16_777_216, 268_435_456)
    ]
    columns = "system,nodes,ranks_per_node,ranks,library,transport,collective,bytes,time_us"
    (folder / "table.csv").write_text("\n".join([columns, *rows, ""]), encoding="utf-8")
    text = (DOCS / "calibration.md").read_text(encoding="utf-8")
    (table,) = re.findall(r"^```text\n(workload,.*?)^```$", text, re.DOTALL | re.MULTILINE)
    (folder / "ours.csv").write_text(table, encoding="utf-8")
    (runs,) = re.findall(r"^```csv\n(workload,.*?)^```$", text, re.DOTALL | re.MULTILINE)
    (folder / "runs.csv").write_text(runs, encoding="utf-8")


def with_a_model(folder: Path) -> None:
    """The files that the page says to save."""
    text = (DOCS / "workload.md").read_text(encoding="utf-8")
    found = re.findall(r"^```(?:json|yaml)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    for name, block in zip(("config.json", "study.yaml", "three.yaml"), found, strict=True):
        (folder / name).write_text(block, encoding="utf-8")


def with_steps(folder: Path) -> None:
    """The table of steps that the page shows."""
    text = (DOCS / "layouts.md").read_text(encoding="utf-8")
    (table,) = re.findall(r"^```csv\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    (folder / "runs.csv").write_text(table, encoding="utf-8")


SHORT = "--budget 8 --ranks 2,3"
PAGES = [
    Page("tutorial.md", elsewhere={**INSTALLS, **PRINTS}),
    Page(
        "calibration.md",
        stand_ins={
            r"--budget 120 --ranks 2,3,4,8,16": SHORT,
            r"dse calibrate run && ": "",  # as it was made at the top of the page
            r"(calibrate run)(?= +#)": rf"\1 {SHORT}",
            r"--device cuda": "--device cpu --budget 8",
        },
        elsewhere={
            r"--hostfile|--link-bandwidth '25 Gbps' --name": "tests/calibration/runners",
            r"--runner grpc|predict servers": "tests/calibration/runners",
            r"--device cuda --workload": "it needs torch: tests/calibration/runners",
            r"import (trace0|timeline)\.json": "tests/calibration/importers",
        },
        begin=with_logs,
    ),
    Page(
        "running.md",
        stand_ins={r"\bSTUDY\b": "small.yaml", r"reports/NAME": "reports/small"},
        elsewhere={
            **INSTALLS, **PRINTS,
            r"--executor ray": "tests/search/executors",
            r"^dse watch": "the logs are those of tests/commands/test_watch.py",
            r"^dse serve": "it serves until Ctrl-C: tests/commands/test_serve.py",
        },
        begin=with_runs,
    ),
    Page(
        "guided.md",
        stand_ins={
            r"\bSTUDY\b": "ps-vs-allreduce", r"reports/(NAME|earlier)": "reports/ps-vs-allreduce",
            r"--engine guided( --points \d+)?": "--engine guided --points 150",
        },
        elsewhere=INSTALLS,
        begin=like_a_clone,
    ),
    Page(
        "fleet.md",
        stand_ins={r"fleet (pai-(fleet|ps-worker))\b": r"fleet \1.yaml", r"jobs: 1e6": "jobs: 5e4"},
        elsewhere={r"^sacct ": "it needs Slurm; its output is read in tests/fleet/test_job_log.py"},
        begin=with_a_fleet,
    ),
    Page(
        "layouts.md",
        elsewhere={r"--operations all_gather": "tests/calibration/runners"},
        begin=with_steps,
    ),
    Page("workload.md", stand_ins={r"> (?=mine\.yaml)": "| tee "}, begin=with_a_model),
]  # fmt: skip
NAMES = [page.name for page in PAGES]


LONG = {  # each runs studies or measures for half a minute; what starts ranks is slow
    "calibration.md": [pytest.mark.evidence, pytest.mark.slow],
    "fleet.md": [pytest.mark.evidence],
    "guided.md": [pytest.mark.evidence],
    "layouts.md": [pytest.mark.evidence],
    "running.md": [pytest.mark.evidence],
    "tutorial.md": [pytest.mark.evidence],
}


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, id=page.name, marks=LONG.get(page.name, [])) for page in PAGES],
)
def test_commands_run_and_print_what_is_quoted(page: Page, tmp_path: Path) -> None:
    for stage, out in zip(page.stages(), pages.printed(page, tmp_path), strict=True):
        assert pages.missing(stage, out) == []


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_what_is_not_run_is_still_there(page: Page) -> None:
    lines = [line for stage in page.stages() for line in stage.script.splitlines()]
    for pattern, why in page.elsewhere.items():
        assert pattern in INSTALLS or any(re.search(pattern, line) for line in lines), why


def test_every_page_with_commands_has_a_test_that_runs_them() -> None:
    """Here, or in a test that names the page."""
    tests = "\n".join(
        path.read_text(encoding="utf-8")
        for path in (ROOT / "tests").rglob("test_*.py")
        if path != Path(__file__)
    )
    for page in sorted(DOCS.rglob("*.md")):
        if any(pages.stages(page.read_text(encoding="utf-8"))) and page.name not in NAMES:
            assert f'"{page.name}"' in tests, f"{page}: no test runs its commands"


WRITTEN = [str(path.relative_to(ROOT)) for path in (*DOCS.rglob("*.md"), ROOT / "README.md")]


@pytest.mark.parametrize("page", sorted(WRITTEN))
def test_commands_and_options_that_are_written_exist(page: str) -> None:
    """Also of commands that stand in a sentence, and of blocks that are not run."""
    text = (ROOT / page).read_text(encoding="utf-8").replace("\\\n", " ")
    for quote, written in re.findall(r"(^ *|`)dse ([a-z][^`|#&;\n]*)", text, re.MULTILINE):
        command: Any = get_command(app)
        words = written.split()
        assert quote != "`" or words[0] in command.commands, f"dse {written}"
        while words and words[0] in getattr(command, "commands", {}):
            command = command.commands[words.pop(0)]
        known = {option for parameter in command.params for option in parameter.opts}
        options = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", written)) - {"--help"}
        assert options <= known, f"dse {written}"

"""The page: its order, what it says, and that it loads nothing and executes nothing foreign."""

from __future__ import annotations

import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from dse.report import page
from dse.report.document import RunDocument
from tests.report import browser
from tests.report.documents import AXES, document, point, read, written
from tests.report.pages import Page

SECTIONS = ["buy", "front", "bill", "time", "binds", "calibration", "inputs", "reproduce",
            "glossary"]  # fmt: skip
EVIL = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def run() -> RunDocument:
    return document()


@pytest.fixture(scope="module")
def seen(run: RunDocument) -> Page:
    return Page(page.render_page(run))


def test_nothing_is_loaded_from_anywhere(seen: Page) -> None:
    assert seen.loads == []
    assert all(link.startswith(("#", "https://images.nvidia.com/")) for link in seen.links)
    assert "default-src 'none'" in page.POLICY


def test_the_library_of_charts_is_in_the_page_once_and_packed(run: RunDocument) -> None:
    html = page.render_page(run)
    assert html.count(page.plotly_script()) == 1
    script = gzip.decompress(base64.b64decode(page.plotly_script())).decode()
    assert script.startswith("/**\n* plotly.js (basic")
    assert "MIT license" in script[:200]


def test_the_page_of_a_long_front_is_small() -> None:
    run = written()
    long(run)
    assert len(page.render_page(read(run)).encode()) < page.MOST_BYTES


def poison(value: Any) -> Any:
    """The document with markup in every text that a user or a file may have written."""
    kept = {
        "status",
        "calibrated",
        "created",
        "objectives",
        "units",
        "engine",
        "executor",
        "rule",
        "evidence",
    }
    if isinstance(value, dict):
        return {key: item if key in kept else poison(item) for key, item in value.items()}
    if isinstance(value, list):
        return [poison(item) for item in value]
    return f"{value}{EVIL}" if isinstance(value, str) else value


def test_no_text_of_a_study_becomes_markup() -> None:
    run = poison(written())
    for axis, name in zip(run["axes"], AXES, strict=True):
        axis["name"] = name
    run["axes"].append({**run["axes"][0], "name": EVIL})
    for at, item in enumerate([run["baseline"], *run["front"]]):
        item["config"][EVIL] = f"{EVIL}{at}"
    run["front"][0]["config"]["accelerator"] = "]]></script><!--<script>alert(2)"
    html = page.render_page(read(run))
    own = html.replace(page.plotly_script(), "")
    assert EVIL not in own
    assert "alert(2)" in own
    assert own.count("<script") == 5
    assert "<!--" not in own
    seen = Page(html)
    assert seen.sections == SECTIONS
    assert [len(json.loads(text)["data"]) > 0 for text in seen.scripts[:2]] == [True, True]


def test_only_web_addresses_become_links() -> None:
    run = written()
    run["sources"][0]["url"] = "javascript:alert(1)"
    assert not any(
        link.startswith("javascript") for link in Page(page.render_page(read(run))).links
    )


def single(run: dict[str, Any]) -> None:
    only = run["front"][-1]
    run.update(front=[only], fastest=only, cheapest_within_5_percent=only)
    run["recommended"] = {**only, "rule": "fastest", "why": ""}


def bare(run: dict[str, Any]) -> None:
    run["sample"] = {"cost": [], "gain": [], "aggregation": [], "gpus": []}
    run.update(calibration=[], sources=[], assumptions=[], transports=[], rejected={})
    run["extrapolated"]["front"] = 0
    for item in [*run["front"], run["baseline"], run["recommended"]]:
        item.update(interval=None, ties=0, tied=[])
        item["costs"] = {**item["costs"], "hourly": None, "tco": None}


def wide(run: dict[str, Any]) -> None:
    for at in range(8):
        name = f"axis_with_a_rather_long_name_{at}"
        run["axes"].append({"name": name, "values": ["x", "y" * 60], "default": False,
                            "conditional": ""})  # fmt: skip
        for turn, item in enumerate([run["baseline"], run["recommended"], *run["front"]]):
            item["config"] = {**item["config"], name: "y" * 60 if turn % 2 else "x"}


def long(run: dict[str, Any]) -> None:
    run["front"] = [point({**run["front"][0]["config"], "gpus": str(at + 1)}) for at in range(500)]


@pytest.mark.parametrize("change", [single, bare, wide, long])
def test_unusual_runs_render(change: Any) -> None:
    run = written()
    change(run)
    assert Page(page.render_page(read(run))).sections == SECTIONS


SCRIPT = """
const chart = document.getElementById("front-chart");
const curve = chart.data.findIndex((trace) => trace.name === "Recommended");
Plotly.Fx.hover(chart, [{ curveNumber: curve, pointNumber: 0 }]);
const heads = [...document.querySelectorAll("#front-table thead button")];
heads[1].click(); heads[1].click();
const more = document.querySelector(".more"); more.click();
return {
  hover: chart.querySelector(".hovertext").textContent,
  best: [chart.data[curve].x[0], chart.data[curve].y[0], chart.data[curve].ids[0]],
  charts: document.querySelectorAll(".chart .main-svg").length,
  bars: document.querySelectorAll("#time-chart .bars .point").length,
  first: document.querySelector("#front-table tbody").id,
  open: !more.closest("tbody").rows[1].hidden,
  wide: document.documentElement.scrollWidth,
  requests: performance.getEntriesByType("resource").map((entry) => entry.name),
  title: document.title,
};
"""


@pytest.mark.slow
@browser.needs_chromium
@pytest.mark.parametrize("width", [1200, 390])
@pytest.mark.parametrize("also", [None, "power"])
def test_the_page_works_in_a_browser(tmp_path: Path, width: int, also: str | None) -> None:
    run = written(also=also)
    run["study"]["name"] = EVIL
    wide(run)
    with browser.opened(page.render_page(read(run)), tmp_path, width) as seen:
        found = seen.run(SCRIPT)
    assert seen.console == []
    assert seen.requests == []
    assert found["title"] == f"{EVIL}: what to buy"
    assert found["charts"] >= 4
    assert found["bars"] >= len(run["front"])
    assert found["requests"] == []
    assert found["wide"] <= width
    assert found["open"]
    gains = [point["speedup"] for point in run["front"]]
    assert found["first"] == f"point-{gains.index(max(gains)) + 1}"
    best = run["recommended"]
    assert "Recommended" in found["hover"]
    assert best["config"]["accelerator"] in found["hover"]
    assert re.search(rf"gpus?\s+{best['config']['gpus']}", found["hover"], re.IGNORECASE)
    assert found["best"][:2] == [best["capital"], best["speedup"]]
    at = [item["config"] for item in run["front"]].index(best["config"])
    assert found["best"][2] == f"point-{at + 1}"


@pytest.mark.evidence
@pytest.mark.slow
@browser.needs_chromium
def test_the_library_is_missed_without_a_sound(tmp_path: Path) -> None:
    html = page.render_page(document()).replace("new DecompressionStream", "new Missing")
    with browser.opened(html, tmp_path, ready=None) as seen:
        seen.page.get_by_text("This browser is too old").first.wait_for()
        assert seen.run('return document.querySelectorAll(".main-svg").length') == 0
    assert seen.console == []

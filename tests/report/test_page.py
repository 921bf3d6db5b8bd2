"""The page: its order, what it says, and that it loads nothing and executes nothing foreign."""

from __future__ import annotations

import base64
import gzip
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from dse.report import glossary, offers, page, tables
from dse.report.document import RunDocument
from dse.study import QUANTITIES
from tests.report import browser
from tests.report.documents import AXES, THREE, document, point, read, written

SECTIONS = ["buy", "front", "bill", "time", "binds", "calibration", "inputs", "reproduce",
            "glossary"]  # fmt: skip
EVIL = "<script>alert(1)</script>"


class Reader(HTMLParser):
    """What a browser would see: sections, scripts, everything that is loaded, and text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.sections: list[str] = []
        self.loads: list[str] = []
        self.links: list[str] = []
        self.scripts: list[str] = []
        self.text = ""
        self._inside = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = {name: value or "" for name, value in attrs}
        self._inside = tag
        if tag == "section":
            self.sections.append(known["id"])
        if tag == "script":
            self.scripts.append("")
        for name, value in known.items():
            assert not name.startswith("on"), f"{tag} has a handler"
            if name in ("src", "srcset", "data", "poster", "action"):
                self.loads.append(value)
            if name == "href":
                (self.links if tag == "a" else self.loads).append(value)

    def handle_endtag(self, tag: str) -> None:
        self._inside = "" if tag in ("script", "style") else self._inside

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            self.scripts[-1] += data
        elif self._inside != "style":
            self.text += data


@pytest.fixture(scope="module")
def run() -> RunDocument:
    return document()


@pytest.fixture(scope="module")
def seen(run: RunDocument) -> Reader:
    return Reader(page.render_page(run))


def test_sections_stand_in_the_order_of_the_questions(seen: Reader) -> None:
    assert seen.sections == SECTIONS


def test_nothing_is_loaded_from_anywhere(seen: Reader) -> None:
    assert all(load.startswith("data:") for load in seen.loads)
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


def test_figures_are_valid_json(seen: Reader) -> None:
    assert [len(json.loads(text)["data"]) > 0 for text in seen.scripts[:2]] == [True, True]
    assert len(seen.scripts) == 5


@pytest.mark.parametrize(
    "text",
    ["resnet50-ethernet-upgrade", "USD", "capital <= 1.2 MUSD", "this-machine", "ring-mpi",
     "Efficiency 0.7 of peak is recalled", "NVIDIA V100 data sheet", "2026-08-21", "1 unverified",
     "1 unknown", "dse run search_spaces/example.yaml --seed 0", "a1b2c3d4e5f60718",
     "only where aggregation is ps-grpc", "Each further", "assumed", "numpy 2.4.1"],
)  # fmt: skip
def test_the_page_says(seen: Reader, text: str) -> None:
    if text == "Each further":
        run = written()
        run["recommended"]["why"] = "Each further dollar buys less"
        assert text in Reader(page.render_page(read(run))).text
    else:
        assert text in seen.text


@pytest.mark.parametrize(("cost", "also"), THREE)
def test_a_page_of_three_objectives_names_all(cost: str, also: str) -> None:
    run = document("speedup", cost, also)
    text = " ".join(Reader(page.render_page(run)).text.split())
    titles = [QUANTITIES[name].phrase.title for name in ("speedup", cost, also)]
    assert f"in {titles[0]}, {titles[1]} or {titles[2]} and as good in the others" in text
    assert f"The colour of a front point is its {titles[2]}." in text
    facts = {fact.label for offer in offers.offers(run) for fact in offer.facts}
    said = {title: "Time of the run" if title == "time to target" else tables.capital(title)
            for title in titles[1:]}  # fmt: skip
    assert set(said.values()) <= facts
    assert "both faster and cheaper" not in text


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
    seen = Reader(html)
    assert seen.sections == SECTIONS
    assert [len(json.loads(text)["data"]) > 0 for text in seen.scripts[:2]] == [True, True]


def test_only_web_addresses_become_links() -> None:
    run = written()
    run["sources"][0]["url"] = "javascript:alert(1)"
    assert not any(
        link.startswith("javascript") for link in Reader(page.render_page(read(run))).links
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
    assert Reader(page.render_page(read(run))).sections == SECTIONS


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


def test_the_page_shows_no_backticks() -> None:
    run = written()
    for item in run["front"]:
        item["evidence"] = "catalogue"
    text = Reader(page.render_page(read(run))).text
    assert "To measure nccl, start 'dse calibrate run --runner torch' on such nodes" in text
    assert "`" not in text


def test_a_profile_without_communication_shows_what_it_holds() -> None:
    run = written()
    (known,) = run["calibration"]
    silent = {
        "transport": "none", "link": "none", "ranks": [1, 1], "message_bytes": [1, 1],
        "split": "measured: nothing was sent", "algorithms": {}, "device": "cpu",
    }  # fmt: skip
    rate = {
        "workload": "resnet50", "accelerator": "t4", "precision": "fp16", "stack": "vendor",
        "gpus": 8, "batch_per_gpu": 128, "accumulation": 2, "samples_per_s": 1234.5,
    }  # fmt: skip
    run["calibration"] = [
        {**known, **silent, "name": "ours", "library": "training rates of a.csv", "rates": [rate]},
        {**known, **silent, "name": "timed", "compute": ["t4: large products reach 50 GFLOP/s"]},
    ]
    text = page.render_page(read(run))
    for unsaid in ("nothing was sent", "1 to 1", "1 B to 1 B", "Median error", "(none)", ">none<",
                   "training rates of a.csv"):  # fmt: skip
        assert unsaid not in text
    for said in ("training rates", "compute speed", "t4: large products reach 50 GFLOP/s",
                 "Samples/s", "1,234", "128", "Open MPI 5.0.8"):  # fmt: skip
        assert said in text


def test_time_to_target_is_said_to_be_without_delivery() -> None:
    """As it is counted: nothing is known of when what is ordered arrives."""
    assert "Delivery is not in it." in glossary.WORDS["time to target"]
    assert "From the order" not in glossary.WORDS["time to target"]

"""The page of a fleet: its sections, that it loads nothing, and that its charts are drawn."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest

from dse.fleet.answers import answer
from dse.fleet.document import FleetDocument
from dse.fleet.reader import read_fleet
from dse.report import fleet_page, fleet_words
from tests.evidence import beyond
from tests.fleet.small import STUDY, TABLE, written
from tests.report import browser
from tests.report.pages import Page

EVIL = "<script>alert(1)</script>"


def document(folder: Path, study: str = STUDY, table: str = TABLE, **more: Any) -> FleetDocument:
    asked = read_fleet(written(folder, study, table))
    found = answer(asked, command="dse fleet study.yaml", versions={"dse": "0.1.0"})
    timings = replace(found.timings, total_s=1.0)
    return replace(found, timings=timings, created="2026-11-21T12:00:00+00:00", **more)


def test_sections_follow_what_was_asked(tmp_path: Path) -> None:
    page = Page(fleet_page.render_page(document(tmp_path)))
    assert page.sections == ["answer", "money", "time", "upgrades", "ports", "sure", "inputs",
                             "reproduce"]  # fmt: skip
    assert page.loads == []
    bare = document(tmp_path, STUDY[: STUDY.index("upgrades")])
    page = Page(fleet_page.render_page(bare))
    assert page.sections == ["answer", "time", "upgrades", "sure", "inputs", "reproduce"]


def test_both_forms_hold_every_table(tmp_path: Path) -> None:
    found = document(tmp_path)
    html, text = Page(fleet_page.render_page(found)).text, fleet_page.render_markdown(found)
    for section in fleet_page.sections(found):
        assert f"## {section.title}" in text
        for part in section.tables:
            assert part.rows
            assert {len(row) for row in part.rows} == {len(part.heads)}
            assert part.caption in html
    blocks = [block for block in text.split("\n\n") if block.startswith("|")]
    tables = [table for section in fleet_page.sections(found) for table in section.tables]
    assert len(blocks) == sum(not table.folded for table in tables)
    for block in blocks:
        assert len({line.count("|") for line in block.splitlines()}) == 1, block


def test_texts_of_the_user_are_never_markup(tmp_path: Path) -> None:
    study = STUDY.replace("name: both", f'name: "{EVIL}"') + f'description: "{EVIL}"\n'
    html = fleet_page.render_page(document(tmp_path, study))
    assert EVIL not in html
    assert "&lt;script&gt;alert(1)" in html


def test_the_answer_names_the_upgrade_that_leaves_most_money(tmp_path: Path) -> None:
    dear = "  - {name: dear, pcie: 51 GB/s, price_per_gpu: 90000 USD}\n  - {name: both,"
    found = document(tmp_path, STUDY.replace("  - {name: both,", dear))
    assert found.money is not None
    best = fleet_words.worthwhile(found)
    assert best is not None
    nets = [row.net_usd_per_year for row in found.money.upgrades]
    assert best.net_usd_per_year == max(net for net in nets if net is not None)
    first, *_ = fleet_words.answer_lines(found)
    assert first.startswith(f"Upgrade to {best.name}:")
    band = fleet_words.money_band(found, best.name)
    assert band is not None
    assert band.net_usd_per_year is not None
    for figure in (best.net_usd_per_year, best.capital_usd, *band.net_usd_per_year):
        assert fleet_words.usd(figure) in first
    unpaid = tuple(row for row in found.money.upgrades if row.name == "dear")
    kept = replace(found, money=replace(found.money, upgrades=unpaid))
    assert fleet_words.worthwhile(kept) is None
    assert fleet_words.answer_lines(kept)[0].startswith("Keep the hardware")


@pytest.mark.parametrize("jobs", [1, 5])
def test_every_part_of_the_time_counts_once(tmp_path: Path, jobs: int) -> None:
    found = document(tmp_path, table="\n".join(TABLE.splitlines()[: jobs + 1]) + "\n")
    said = re.sub(r"\(.*?\)", "", fleet_words.answer_lines(found)[1])
    shares = [float(text) for text in re.findall(r"([\d.]+) %", said)]
    assert sum(shares) == pytest.approx(100, abs=1)
    assert shares == sorted(shares, reverse=True)


def test_bars_of_a_class_sum_to_one(tmp_path: Path) -> None:
    figure = json.loads(fleet_page.bars_figure(document(tmp_path)))
    assert len(figure["data"]) == len(fleet_words.COMPONENTS)
    for column in zip(*(trace["x"] for trace in figure["data"]), strict=True):
        assert sum(column) == pytest.approx(1)


@pytest.mark.slow
@browser.needs_chromium
def test_a_browser_draws_the_charts_and_complains_of_nothing(tmp_path: Path) -> None:
    html = fleet_page.render_page(document(tmp_path))
    script = """return {
      charts: [...document.querySelectorAll(".chart")].map(
        (chart) => chart.querySelectorAll(".main-svg").length > 0),
      wide: document.documentElement.scrollWidth > innerWidth,
    };"""
    for width in (1200, 390):
        with browser.opened(html, tmp_path, width) as seen:
            assert seen.run(script) == {"charts": [True], "wide": False}
        assert seen.console == seen.requests == []


@pytest.mark.slow
@browser.needs_chromium
@pytest.mark.parametrize("scheme", beyond(["dark"], ["light", "dark"]))
def test_axe_finds_nothing_serious(tmp_path: Path, scheme: Literal["light", "dark"]) -> None:
    with browser.opened(fleet_page.render_page(document(tmp_path)), tmp_path, 390, scheme) as seen:
        seen.run('document.querySelectorAll("details").forEach((part) => { part.open = true; });')
        assert browser.grave(seen) == []
